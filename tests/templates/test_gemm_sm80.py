"""templates/gemm_sm80.py: which configuration it takes on which GPU, and which it refuses before any launch."""

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.compile
KIB = 1024
GPUS = {  # SMs, shared memory of one, and the most that a CTA can have of it
    "A100": (108, 164 * KIB, 163 * KIB), "H200": (132, 228 * KIB, 227 * KIB), "RTX 4090": (128, 100 * KIB, 99 * KIB)}
SHAPES = [(1, 8, 8), (1024, 1024, 1024), (512, 4096, 14336), (8192, 8192, 8192)]


@pytest.fixture(scope="module")
def template():
    spec = importlib.util.spec_from_file_location("gemm_sm80_template", ROOT / "templates" / "gemm_sm80.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=GPUS)
def gpu(request, template, monkeypatch):
    sms, per_sm, per_cta = GPUS[request.param]
    properties = SimpleNamespace(multi_processor_count=sms, shared_memory_per_multiprocessor=per_sm,
                                 shared_memory_per_block_optin=per_cta)
    monkeypatch.setattr(template.torch.cuda, "get_device_properties", lambda device: properties)
    template._choose.cache_clear()
    yield properties
    template._choose.cache_clear()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_takes_what_fits_on_the_gpu(template, gpu, shape):
    config = template._choose(None, *shape, "cuda")

    assert config.ring_bytes <= gpu.shared_memory_per_block_optin
    assert config.ctas >= 1
    assert config.ctas * (config.ring_bytes + KIB) <= gpu.shared_memory_per_multiprocessor


def test_a_large_product_takes_a_larger_tile_than_a_small_one(template, gpu):
    small, large = (template._choose(None, size, size, size, "cuda").tile for size in (256, 8192))

    assert small[0] * small[1] < large[0] * large[1]


def test_refuses_a_ring_that_does_not_fit(template, gpu):
    with pytest.raises(ValueError, match="bytes of shared memory"):
        template._choose(((256, 256, 64), 4, (2, 4)), 512, 512, 512, "cuda")


@pytest.mark.parametrize("config", [
    ((128, 128, 48), 3), ((96, 128, 64), 3), ((128, 128, 64), 1), ((64, 64, 64), 3, (1, 1)), ((256, 256, 32), 2)])
def test_refuses_a_tile_that_the_kernel_cannot_take(template, config):
    with pytest.raises(ValueError, match="M and N of a tile"):
        template.Gemm(template.Config(*config))


def test_every_configuration_is_one_that_the_kernel_takes(template):
    assert all(template.Gemm(config).threads in (64, 128, 256) for config in template.CONFIGS)

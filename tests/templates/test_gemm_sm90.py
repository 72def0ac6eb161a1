"""The GEMM template for Hopper: what its host code decides before any launch."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

PATH = Path(__file__).resolve().parents[2] / "templates" / "gemm_sm90.py"
pytestmark = pytest.mark.compile


@pytest.fixture
def template(monkeypatch):
    """The template on CPU tensors that pass for those of an H200; a launch is only counted."""
    pytest.importorskip("cutlass")
    torch = pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("gemm_sm90_template", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: (9, 0))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda *_: SimpleNamespace(multi_processor_count=132))
    plan, device = module._plan.__wrapped__, torch.device("cuda", 0)
    on_the_gpu = lambda fact: fact and (fact[0], device, *fact[2:])
    module._plan = lambda a, b, out, extras, config: plan(
        on_the_gpu(a), on_the_gpu(b), on_the_gpu(out), tuple(map(on_the_gpu, extras)), config
    )
    module.launches, module.chosen = [], []

    def launcher(config, *_):
        module.chosen.append(config)
        return lambda *arguments: module.launches.append(arguments)

    module._launcher = launcher
    return module


@pytest.mark.parametrize("is_given", [False, True])
@pytest.mark.parametrize(("shape", "k"), [((33, 0), 72), ((33, 0), 2), ((0, 264), 2)], ids=str)
def test_an_empty_result_is_neither_launched_nor_copied(template, recwarn, shape, k, is_given):
    import torch

    a, b = (torch.zeros(size, k, dtype=torch.bfloat16) for size in shape)
    out = torch.empty(shape, dtype=torch.bfloat16) if is_given else None

    assert template.kernel_fn(a, b, out=out).shape == shape
    assert not template.launches
    assert not recwarn.list


def test_a_result_may_replace_what_the_epilogue_reads_and_no_operand(template):
    import torch

    a, b, c = (torch.zeros(64, 64, dtype=torch.bfloat16) for _ in range(3))

    assert template.kernel_fn(a, b, c, out=c) is c
    assert len(template.launches) == 1
    for extra, out in ((c, a), (c, b), (a, a)):  # the last is read as an operand, too
        with pytest.raises(ValueError, match="out overlaps an input"):
            template.kernel_fn(a, b, extra, out=out)
    assert len(template.launches) == 1


def test_rows_that_straddle_lines_are_read_in_a_cluster(template):
    """K = 1000 in bfloat16 are 2000 bytes, which is no multiple of 128; of the view of a wider matrix K = 1024 are."""
    import torch

    wide = torch.zeros(1000, 1024, dtype=torch.bfloat16)
    for a in (wide[:, :1000].contiguous(), wide[:, :1000]):
        template.kernel_fn(a, a.clone() if a.is_contiguous() else torch.zeros_like(wide)[:, :1000])

    straddling, aligned = template.chosen
    assert straddling.cluster != (1, 1)
    assert aligned.cluster == (1, 1)


@pytest.mark.parametrize(("m", "swap"), [(1, True), (16, True), (4096, False)])
def test_a_few_rows_go_to_the_narrow_side_of_a_tile(template, m, swap):
    """On an H200 1x28672x4096 took 63 us in tiles of 64x224, 58 swapped; the estimate alone does not know."""
    import torch

    a, b = (torch.zeros(rows, 2048, dtype=torch.bfloat16) for rows in (m, 11008))
    template.kernel_fn(a, b)

    assert template.chosen[0].swap == swap


def test_small_tiles_of_one_wave_share_loads_and_a_long_k_of_few_tiles_is_split_by_eight(template):
    """700x704x7000: 29.6 us before, 21.8 in a cluster of eight; 32x512x16384: 11.1 split by four, 8.0 by eight."""
    import torch

    for m, n, k in ((700, 704, 7000), (32, 512, 16384)):
        template.kernel_fn(torch.zeros(m, k, dtype=torch.bfloat16), torch.zeros(n, k, dtype=torch.bfloat16))

    shared, split = template.chosen
    assert shared.cluster[0] * shared.cluster[1] == 8
    assert split.split == 8


def test_k_is_split_where_all_its_clusters_are_resident(template):
    """By three 128x2304x5120 takes 10.8 us (12.2 otherwise) in 36 clusters, and 128x2560x4096 15.2 (11.3) in 40, of
    which an H200 holds 39. One row of 2112x7168 takes 10.0 us split by four, two CTAs an SM, 12.0 whole."""
    import torch

    for m, n, k in ((1, 2112, 7168), (128, 2304, 5120), (128, 2560, 4096)):
        template.kernel_fn(torch.zeros(m, k, dtype=torch.bfloat16), torch.zeros(n, k, dtype=torch.bfloat16))

    row, resident, beyond = template.chosen
    assert (row.tile, row.split, row.ctas) == ((64, 16), 4, 2)
    assert (resident.tile, resident.split) == ((64, 128), 3)
    assert beyond.split != 3


def test_no_more_clusters_are_launched_than_run_together(template):
    """Each takes its share of the tiles: one that waits for another's place would take as long again. Of a tile of
    (128, 128) in clusters of eight 33 x 33 fill 15 places of an H200 many times; 132 / 8 are 16."""
    import torch

    a = torch.zeros(4224, 64, dtype=torch.bfloat16)
    for cluster, resident in (((2, 1), 66), ((4, 1), 30), ((2, 4), 15)):
        template.kernel_fn(a, a.clone(), config=((128, 128), cluster))

        assert template.launches[-1][2] == resident


@pytest.mark.parametrize("sms", [1, 2, 4])
def test_few_multiprocessors_hold_a_cluster(template, sms):
    assert all(template.estimate_us(config, 4096, 4096, 1, 64, sms) > 0 for config in template.CONFIGS)


def test_a_full_residual_is_loaded_two_elements_at_a_time(tmp_path):
    """C lies in memory as the accumulators do in pairs; at the edges each element is asked for."""
    text = PATH.read_text()
    for old, new in (("(m=1024, n=1024, k=1024", "(m=4096, n=4096, k=256"),
                     ('majors="kk", c=None', 'majors="kk", c=(4096, 4096)'),
                     ("out=None, config=None):", "out=None, config=((128, 256), (2, 1))):"),
                     ('"UTMALDG": ">0"', '"LDG.32": 64')):  # fmt: skip
        assert text.count(old) == 1
        text = text.replace(old, new)
    kernel = tmp_path / "gemm.py"
    kernel.write_text(text)
    command = [sys.executable, PATH.parents[1] / "scripts/inspect_kernel.py", kernel, "--arch", "sm_90a"]

    inspected = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert inspected.returncode == 0, inspected.stdout + inspected.stderr

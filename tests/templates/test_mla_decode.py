"""What templates/mla_decode.py refuses: numbers that its schedule cannot hold."""

import importlib.util
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.compile


class _OnCuda(torch.Tensor):
    """A CPU tensor that says it is on a GPU, for the checks alone."""

    is_cuda = True


@pytest.fixture(scope="module")
def template():
    path = Path(__file__).resolve().parents[2] / "templates" / "mla_decode.py"
    spec = importlib.util.spec_from_file_location("mla_decode_under_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("width", "fits"), [(7707, True), (7708, False)])
def test_pages_beyond_int32(template, width, fits):
    """The schedule forms 17 * batch * (pages + 3) at most; the table is never touched."""
    batch = 1 << 14
    q, cache = torch.empty(batch, 1, 1, 576, dtype=torch.bfloat16), torch.empty(1, 64, 576, dtype=torch.bfloat16)
    table, lengths = torch.empty(batch, width, dtype=torch.int32), torch.empty(batch, dtype=torch.int32)
    tensors = [x.as_subclass(_OnCuda) for x in (q, cache, table, lengths)]

    if fits:
        template._check(*tensors, 1.0)
    else:
        with pytest.raises(ValueError, match="more than Int32 can count"):
            template._check(*tensors, 1.0)

"""What the referee of a benchmark accepts: what the verifier does."""

import pytest
import torch
from kernel_harness import values
from kernel_harness.roles import referee

pytestmark = pytest.mark.cpu
K = 4096
CUT_OFF = K / 120 * 2.0**-23  # what tensor cores lose of a sum of K products (comparison/contraction.py)


def verdict(dtype, relative_error, tmp_path):
    """Of a float32 product of two matrices of ``dtype`` that is off by ``relative_error`` everywhere."""
    a, b = (torch.rand(rows, K, dtype=torch.float64).to(dtype) for rows in (32, 48))
    golden, native = a.double() @ b.double().mT, a.float() @ b.float().mT
    wrong = (golden * (1 - relative_error)).float()
    saved = {
        name: values.save({"result": value, "mutated": {}}, tmp_path / name).to_json()
        for name, value in {"native": native, "golden": golden, "kept": wrong}.items()
    }
    inputs = values.save([a, b], tmp_path / "inputs").to_json()
    return referee.judge(saved.pop("kept"), inputs, saved, None)["wrong"]


def test_tensor_cores_may_cut_off_the_sums_of_16_bit_numbers(tmp_path):
    assert verdict(torch.bfloat16, CUT_OFF, tmp_path) is None


@pytest.mark.parametrize(("dtype", "error"), [(torch.bfloat16, 16 * CUT_OFF), (torch.float32, 2.0**-11)])
def test_a_product_of_fewer_digits_is_wrong(dtype, error, tmp_path):
    assert "less precise" in verdict(dtype, error, tmp_path)

"""Which values keep a rule that a change of the judge's would break."""

import pytest
import torch
from kernel_harness.inputs.structured import between_flags, further, is_structured, lengthened, sparser, toggled

pytestmark = pytest.mark.cpu
TORCH = torch.Generator().manual_seed(0)
RANDOM = torch.randn(24, 24, generator=TORCH)
ORTHOGONAL = torch.linalg.qr(RANDOM)[0]

RULES = {
    "signs": RANDOM.sign(),
    "one-hot": torch.eye(24)[torch.arange(24).flip(0)],
    "powers of two": torch.exp2(RANDOM.round()),
    "step": torch.tensor(7.0),
    "counts": (10 * RANDOM).round(),
    "probabilities": RANDOM.softmax(1),
    "unit rows": torch.nn.functional.normalize(RANDOM, dim=1),
    "orthonormal columns": ORTHOGONAL[:, :8],
    "symmetric": RANDOM @ RANDOM.T + (RANDOM @ RANDOM.T).T,
    "triangular": RANDOM.tril(),
    "diagonally dominant": RANDOM + torch.diag(1 + RANDOM.abs().sum(1)),
    "descending": RANDOM.sort(dim=1, descending=True).values,
    "sorted columns": RANDOM.sort(dim=0).values,
    "rotary table": torch.cat((RANDOM, RANDOM), -1),
    "interleaved rotary table": RANDOM.repeat_interleave(2, -1),
    "repeated heads": RANDOM.view(2, 4, 72).repeat_interleave(3, 1),
    "bfloat16 probabilities": RANDOM.softmax(1).to(torch.bfloat16),
}
FREE = {
    "normal": RANDOM,
    "uniform": RANDOM.sigmoid(),
    "one matrix of several dominant": torch.stack((RANDOM, RANDOM + 99 * torch.eye(24))),
    "constant": torch.zeros(24),
    "learning rate": torch.tensor(0.125 + 1e-3),
    "one value": torch.ones(1),
    "a row": RANDOM[:1],
    "a column": RANDOM[:, :1],
    "ascending rows": RANDOM.sort(dim=1).values,
    "empty": torch.empty(0, 3),
    "repeated rows": RANDOM[:1].expand(4, 24),
    "with NaN": torch.full((8,), torch.nan),
}


@pytest.mark.parametrize("name", RULES)
def test_values_with_a_rule_are_left_to_get_inputs(name):
    assert is_structured(RULES[name])


@pytest.mark.parametrize("name", FREE)
def test_values_without_one_may_change(name):
    assert not is_structured(FREE[name])


def test_whole_numbers_get_digits_that_smaller_formats_do_not_hold():
    x = (4 * RANDOM).round()

    y = lengthened(x, TORCH)

    assert torch.equal(y, y.round())
    assert torch.equal(y.sign(), x.sign())
    assert torch.equal(y.flatten().argsort(stable=True), x.flatten().argsort(stable=True))
    kept = [(y.view(torch.int32) & -0x2000).view(torch.float32), y.bfloat16().float()]
    assert all(bool((form != y)[x != 0].all()) for form in kept)
    assert bool(y.half().isinf()[x != 0].all())
    wide = lengthened(x.double(), TORCH)
    assert bool((wide.float() != wide)[x != 0].all())


@pytest.mark.parametrize("x", [
    RANDOM.sign(), (4 * RANDOM).round().abs().clamp_max(15), torch.arange(64.0), torch.arange(64.0).flip(0), RANDOM,
    (4 * RANDOM).round() * 1000, torch.tensor(3.0), (4 * RANDOM).round().half(),
], ids=["signs", "digits", "positions", "countdown", "fractions", "large", "number", "half"])
def test_symbols_codes_and_positions_stay_as_they_are(x):
    assert lengthened(x, TORCH) is None


def test_probabilities_become_sparser_and_keep_their_sum():
    y = sparser(RANDOM.softmax(-1), TORCH)

    assert torch.allclose(y.sum(-1), torch.ones(24))
    assert 50 < int((y == 0).sum()) < 300
    assert sparser(RANDOM.abs(), TORCH) is None
    assert sparser(y, TORCH) is None


def test_a_flag_is_a_number_alone_that_is_zero_or_one():
    assert toggled(torch.zeros(1), TORCH).tolist() == [1.0]
    assert toggled(torch.tensor(1.0), TORCH).item() == 0.0
    assert toggled(torch.tensor([0.5]), TORCH) is None
    assert toggled(torch.zeros(2), TORCH) is None


def test_integers_go_further_and_keep_low_bits():
    x = torch.randint(0, 2048, (4, 32), generator=TORCH)
    y = further(x, TORCH)

    assert torch.equal(y // 4, x)
    assert set((y % 4).unique().tolist()) == {0, 1, 2, 3}
    assert further(x.to(torch.int16), TORCH) is not None
    assert further(x.to(torch.int16) * 8, TORCH) is None, "four times as far is no int16"
    assert further(x % 64, TORCH) is None
    assert further(x > 5, TORCH) is None
    assert further(torch.arange(100, 200), TORCH) is None


def test_zeros_and_ones_become_numbers_between():
    y = between_flags((RANDOM > 0).float(), TORCH)

    assert 0 < float(y.min()) < float(y.max()) < 1
    assert between_flags(torch.ones(9), TORCH) is None
    assert between_flags(RANDOM, TORCH) is None

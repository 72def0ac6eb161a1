"""The judge's own inputs: new values, and what inputs usually promise is kept."""

import math

import pytest
import torch
from kernel_harness import values
from kernel_harness.inputs import enlarged, hostile, masks, nonfinite, signs, sinks, together, variations

pytestmark = pytest.mark.cpu
TORCH = torch.Generator().manual_seed(0)


def vary(inputs, tmp_path, change, **options):
    bundle = values.save(inputs, tmp_path / "first")
    new, changed = variations.varied(bundle, tmp_path / "new", change, seed=1, **options)
    mapping = values.Mapping(new)
    return values.rebuild(new.tree, mapping.bytes_of), changed


def test_warp_changes_every_value_and_keeps_order_sign_and_zeros(tmp_path):
    x = torch.randn(1000).sort().values
    x[x.abs() < 0.05] = 0

    (y,), changed = vary([x], tmp_path, variations.warp)

    assert changed
    assert torch.equal(y == 0, x == 0)
    assert torch.equal(y.sign(), x.sign())
    assert bool((y.diff() >= 0).all())
    moved = (y / x)[x != 0]
    assert moved.min() >= 1.04
    assert moved.max() <= 1.41
    assert moved.std() > 0.01   # no mere scaling: a scale-invariant function must move, too


def test_warp_makes_a_constant_tensor_random(tmp_path):
    (y,), changed = vary([torch.zeros(64)], tmp_path, variations.warp)

    assert changed
    assert y.unique().numel() == 64


def test_warp_leaves_integers_infinities_and_scalars_alone(tmp_path):
    inputs = [torch.arange(5), torch.tensor([1.0, float("-inf"), 2.0]), 3, "mode"]

    (index, x, number, mode), _ = vary(inputs, tmp_path, variations.warp)

    assert torch.equal(index, inputs[0])
    assert x[1] == float("-inf")
    assert (number, mode) == (3, "mode")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float64], ids=str)
def test_every_hostile_change_stays_finite_in_the_format(tmp_path, dtype):
    x = torch.randn(32, 16).to(dtype)
    for number, (label, change) in enumerate(hostile.HOSTILE.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        (y,), changed = vary([x], folder, change)

        wide = (torch.float16, torch.bfloat16, torch.float64)
        takes = {hostile.huge: (torch.float16,), hostile.far_point: ()}
        takes |= dict.fromkeys((hostile.uneven, hostile.waves, hostile.cancelling), wide)
        takes = takes.get(change)
        assert changed == (dtype is torch.float64 if "around" in label else takes is None or dtype in takes)
        assert torch.isfinite(y.float()).all()


def test_swapping_one_pair_keeps_the_values(tmp_path):
    x = torch.randn(4096)

    (y,), changed = vary([x], tmp_path, variations.swap_one)

    assert changed
    assert int((x != y).sum()) == 2
    assert torch.equal(x.sort().values, y.sort().values)


def test_turning_rows_keeps_what_each_holds(tmp_path):
    x, masked, short = torch.randn(40, 33), torch.zeros(8, 8), torch.randn(40, 3)
    masked[:, 6:] = -torch.inf

    (y, same, too), changed = vary([x, masked, short], tmp_path, variations.rotate)

    assert changed
    assert torch.equal(x.sort(dim=1).values, y.sort(dim=1).values)
    assert int((x == y).sum()) < 10
    assert torch.equal(same, masked)
    assert torch.equal(too, short)


def test_an_expanded_tensor_stays_consistent(tmp_path):
    x = torch.randn(1, 8).expand(4, 8)

    (y,), changed = vary([x], tmp_path, variations.warp)

    assert changed
    assert bool((y == y[0]).all())


def test_unmask_touches_constant_masks_only(tmp_path):
    (mask, other), changed = vary([torch.ones(100, dtype=torch.bool), torch.arange(4)], tmp_path, masks.unmask,
                                  kinds="index")

    assert changed
    assert 5 <= int((~mask).sum()) <= 50
    assert torch.equal(other, torch.arange(4))


@pytest.mark.parametrize("x", [  # apart by more than a rounding
    torch.linspace(0, 1, 500)[torch.randperm(500)], torch.linspace(-1, 1, 64).cos(), torch.tensor([0.999]),
], ids=["uniform", "cosines", "decay"])  # fmt: skip
def test_warp_does_not_leave_the_unit_interval(x, tmp_path):
    (y,), changed = vary([x], tmp_path, variations.warp)

    assert changed
    assert float(y.abs().max()) < 1
    assert bool((y.abs() < 0.96 * x.abs()).logical_or(x == 0).all())
    assert torch.equal(y.argsort(), x.argsort())


def test_rewrite_reaches_tensors_that_are_already_mapped(tmp_path):
    first = values.save([torch.zeros(4)], tmp_path / "a")
    second = values.save([torch.ones(4)], tmp_path / "b")
    mapping = values.Mapping(first)
    (tensor,) = values.rebuild(first.tree, mapping.bytes_of)

    variations.rewrite(mapping, second)

    assert torch.equal(tensor, torch.ones(4))


def test_a_tensor_of_one_sign_gets_both_and_others_stay(tmp_path):
    positive, mixed, scales = torch.rand(200) + 0.1, torch.randn(200), torch.rand(8)
    mask, offsets = (torch.rand(200) < 0.5).float(), torch.rand(200).sort().values

    new, changed = vary([positive, mixed, scales, mask, offsets], tmp_path, signs.both)

    assert changed
    assert torch.equal(new[0].abs(), positive)
    assert 50 < int((new[0] < 0).sum()) < 150
    assert all(torch.equal(a, b) for a, b in zip(new[1:], [mixed, scales, mask, offsets], strict=True))


def test_zeros_come_only_where_values_need_not_be_positive(tmp_path):
    for number, change in enumerate((hostile.coarse, hostile.signed_zeros)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (scales, data), _ = vary([torch.rand(512) + 0.1, torch.randn(512)], folder, change)

        assert bool((scales > 0).all())
        assert bool((data == 0).any())


def test_few_values_tie_and_keep_the_sizes_of_inputs_beside_each_other(tmp_path):
    low, diagonal, masked = torch.rand(64, 9) - 0.5, 2 + torch.rand(64, 9), torch.randn(64, 9)
    masked[:, 3] = -torch.inf

    (outer, middle, data), changed = vary([low, diagonal, masked], tmp_path, hostile.coarse)

    assert changed
    assert bool((2 * outer.abs().amax(1) < middle.amin(1)).all())   # a dominant diagonal stays one
    assert torch.equal(torch.isinf(data), torch.isinf(masked))
    assert 3 <= data[torch.isfinite(data)].unique().numel() <= 5
    assert not bool(torch.signbit(data[data == 0]).any())


def test_the_last_slice_of_a_long_dimension_weighs_a_sixteenth(tmp_path):
    (x, short), _ = vary([torch.ones(3, 8192), torch.ones(64)], tmp_path, hostile.long_tails)

    assert torch.equal(x[:, -1], torch.full((3,), 512.0))
    assert bool((x[:, :-1] == 1).all() and (short == 1).all())
@pytest.mark.parametrize("change", [variations.warp, variations.swap, variations.swap_one, variations.shuffle])
def test_a_tensor_of_many_parts_is_varied_as_one_of_a_single_part(tmp_path, monkeypatch, change):
    monkeypatch.setattr(variations, "PART_ELEMENTS", 100)
    x = torch.randn(40, 35).sort(dim=0).values

    (y,), changed = vary([x.flatten()[7:1330]], tmp_path, change)

    assert changed
    before = x.flatten()[7:1330]
    if change is variations.warp:
        assert torch.equal(y.argsort(), before.argsort())   # one scale for all parts: the order stays
        assert 1.04 <= (y / before).min() <= (y / before).max() <= 1.41
    else:
        assert torch.equal(y.sort().values, before.sort().values)


def test_a_constant_of_many_parts_becomes_random(tmp_path, monkeypatch):
    monkeypatch.setattr(variations, "PART_ELEMENTS", 10)

    (y,), changed = vary([torch.full((64,), 2.0, dtype=torch.bfloat16)], tmp_path, variations.warp)

    assert changed
    assert y.unique().numel() > 20


def test_packed_floats_are_left_alone(tmp_path):
    x = torch.randint(0, 256, (32,), dtype=torch.uint8).view(torch.float4_e2m1fn_x2)

    (y,), changed = vary([x], tmp_path, variations.warp)

    assert not changed
    assert torch.equal(y.view(torch.uint8), x.view(torch.uint8))


def test_complex_numbers_are_varied_and_real_ones_get_an_imaginary_part(tmp_path):
    (y,), changed = vary([torch.randn(8, 16).to(torch.complex64)], tmp_path, variations.warp)

    assert changed
    assert bool((y.imag != 0).all())


def test_values_that_keep_a_rule_change_only_where_that_is_asked_for(tmp_path):
    positions, weights = torch.arange(16.0), torch.randn(16)
    folders = [tmp_path / name for name in ("float", "ruled")]
    for folder in folders:
        folder.mkdir()

    (kept, warped), _ = vary([positions, weights], folders[0], variations.warp)
    (moved, same), _ = vary([positions, weights], folders[1], variations.pry, kinds="ruled")

    assert torch.equal(kept, positions)
    assert not torch.equal(warped, weights)
    assert not torch.equal(moved, positions)
    assert bool((moved.diff() > 0).all())  # what is sorted stays so
    assert torch.equal(same, weights)


@pytest.mark.parametrize("change", [hostile.coarse, hostile.signed_zeros], ids=lambda change: change.__name__)
def test_what_comes_in_strict_order_beside_other_data_stays_strict(tmp_path, change):
    knots, data = torch.linspace(0, 1, 40), torch.randn(40)
    beside, alone = tmp_path / "beside", tmp_path / "alone"
    beside.mkdir()
    alone.mkdir()

    (kept, varied), _ = vary([knots, data], beside, change)
    (only,), changed = vary([knots], alone, change)

    assert bool((kept.diff() > 0).all())
    assert not torch.equal(varied, data)
    assert changed
    assert bool((only.diff() == 0).any())   # the only data: their order may be chance


def test_repeated_integers_are_some_of_the_old_ones_with_another_histogram(tmp_path):
    x = torch.arange(64)

    (y,), changed = vary([x], tmp_path, variations.repeat, kinds="index")

    assert changed
    assert set(y.tolist()) < set(x.tolist())


def test_an_empty_row_is_one_row_of_zeros_and_none_where_values_are_positive(tmp_path):
    (y, scales), changed = vary([torch.randn(9, 5), torch.rand(9, 5) + 0.1], tmp_path, hostile.empty_row)

    assert changed
    assert int((y == 0).all(1).sum()) == 1
    assert bool((scales > 0).all())


@pytest.mark.parametrize("change", [nonfinite.specials, nonfinite.nans])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_a_nan_has_no_sign(change, dtype, tmp_path):
    """A sort by bits, as a GPU's, puts a negative NaN last, and a comparison puts it first."""
    (y,), changed = vary([torch.randn(4096).to(dtype)], tmp_path, change)

    assert changed
    assert 1 <= int(y.isnan().sum()) <= 8
    assert not bool(y[y.isnan()].signbit().any())


def marked(places, rows=8, columns=64, value=-math.inf):
    x = torch.randn(rows, columns, generator=TORCH)
    x.view(-1)[places] = value
    return x


def test_marks_at_a_few_random_places_become_many():
    x = marked(torch.randperm(512, generator=TORCH)[:40])

    new = nonfinite.denser(x, TORCH)

    assert 200 < int(torch.isinf(new).sum()) < 330
    assert bool(torch.isfinite(new).any(1).all()), "each row keeps a number"
    kept = torch.isfinite(new) | torch.isinf(x)
    assert torch.equal(new[kept], x[kept])


@pytest.mark.parametrize(
    ("x", "rule"),
    [
        (torch.randn(8, 64, generator=TORCH), "there are none"),
        (marked(torch.arange(512) % 64 >= 56), "padding"),
        (marked(torch.arange(512) % 64 == torch.arange(512) // 64), "one in each row"),
        (marked(torch.randperm(512, generator=TORCH)[:300]), "many as it is"),
        (marked([5, 40, 19, 26], columns=8), "both ways"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_marks_that_keep_a_rule_stay(x, rule):
    assert nonfinite.denser(x, TORCH) is None


def test_what_ascends_gets_no_marks():
    edges, data = torch.linspace(-2, 2, 12), torch.randn(12, generator=TORCH)

    for change in (nonfinite.nans, nonfinite.infinities, nonfinite.minus_infinities):
        assert torch.equal(change(edges, TORCH), edges)
        assert not bool(torch.isfinite(change(data, TORCH)).all())


def test_one_element_shrinks():
    x = torch.randn(8, 9, generator=TORCH)

    changed = [variations.shrink_one(number)(x, TORCH) for number in range(2 * variations.RUN)]

    assert all(int((new != x).sum()) == 1 and float((new / x).min()) == pytest.approx(0.75) for new in changed)
    assert {int((new != x).flatten().nonzero()) % variations.RUN for new in changed} == set(range(variations.RUN))
    assert int((variations.shrink_one(9)(x[0, :3], TORCH) != x[0, :3]).sum()) == 1


def test_a_row_alone_becomes_zeros_unless_it_is_positive():
    row = torch.randn(9, generator=TORCH)

    assert not bool(hostile.zeros(row, TORCH).any())
    assert hostile.zeros(row.abs() + 1, TORCH) is None
    assert hostile.zeros(row.view(3, 3), TORCH) is None, "empty_row has those"


@pytest.mark.parametrize(("pick", "wanted"), [(torch.amax, 0.9), (torch.amin, 0.1)], ids=["largest", "smallest"])
def test_data_of_one_sign_take_their_largest_or_smallest_value_throughout(pick, wanted):
    gate = 0.5 + 0.3 * torch.rand(40, 5, generator=TORCH)
    gate[3, 2], gate[7, 1] = 0.9, 0.1
    change = hostile.throughout(pick)

    assert torch.equal(change(gate, TORCH), torch.full((40, 5), wanted))
    assert torch.equal(hostile.throughout(torch.amax)(-gate, TORCH), torch.full((40, 5), -0.1))
    assert change(gate - 0.5, TORCH) is None
    assert change(gate[:2], TORCH) is None, "few numbers are parameters"


def test_groups_and_rows_of_one_sign():
    x = torch.randn(64, 128, generator=TORCH)

    new = signs.runs(x, TORCH)

    positive, negative = ((new.sign() == sign).view(64, 8, 16).all(-1) for sign in (1, -1))
    assert 80 < int(positive.sum()) < 260
    assert 80 < int(negative.sum()) < 260
    assert bool(positive.all(1).any())
    assert bool(negative.all(1).any())
    assert torch.equal(new.abs(), x.abs())
    assert signs.runs(x.abs(), TORCH) is None


def test_what_relu_leaves_gets_below_zero_and_zeros_that_lie_together_stay():
    x = torch.randn(64, 64, generator=torch.Generator().manual_seed(0)).relu()
    banded = torch.rand(64, 64).triu()

    assert bool((signs.below_zero(x, TORCH) < 0).all())
    for other in (banded, x - 0.5, x + 1, torch.where(x > 0, 1.0, 0.0), x[0, :8]):
        assert signs.below_zero(other, TORCH) is None


def test_all_data_move_by_one_number():
    change = together.moved(4096)
    a, b = torch.randn(40, 8), 3 * torch.randn(50, 8)
    offsets = [change(x, TORCH).double() - x for x in (a, b)]

    assert float(offsets[0].mean()) == pytest.approx(4096 * float(a.std()), rel=1e-3)
    assert torch.cat([o.flatten() for o in offsets]).std() < 1e-3
    assert change(torch.ones(3), TORCH) is None


def test_the_first_rows_of_a_matrix_are_enlarged(tmp_path):
    x = torch.randn(24, 9)

    (y,), changed = vary([x], tmp_path, enlarged.first_rows)

    assert changed
    assert torch.equal(y[:3], enlarged.TIMES * x[:3])
    assert torch.equal(y[3:], x[3:])


@pytest.mark.parametrize("shape", [(1000,), (1, 1000)])
def test_of_one_row_no_part_is_enlarged(tmp_path, shape):
    assert not vary([torch.randn(shape)], tmp_path, enlarged.first_rows)[1]


def test_positive_and_negative_keep_magnitudes():
    x = torch.randn(100, generator=torch.Generator().manual_seed(0))

    above, below = signs.positive(x, None), signs.negative(x, None)

    assert torch.equal(above, x.abs())
    assert torch.equal(below, -x.abs())
    assert signs.positive(x.abs(), None) is None
    assert signs.negative(x.abs(), None) is None


def test_tiny_values_are_lost_beside_one_and_keep_their_digits(tmp_path):
    x = torch.randn(64)

    (y, half), _ = vary([x, x.half()], tmp_path, hostile.tiny)

    assert torch.equal(1 + y, torch.ones(64))
    assert torch.equal(y * 2.0**30, x)
    assert torch.equal(half, x.half())  # float16 has no such numbers


def test_the_first_of_a_row_leads_and_the_others_together_still_show(tmp_path):
    scores, vector, positive = torch.randn(8, 300), torch.randn(40), torch.rand(8, 300)

    (led, last, same), _ = vary([scores, vector, positive], tmp_path, hostile.led)

    weights = led.softmax(-1)
    assert bool((led[:, :1] - led[:, 1:] > 7.5).all())
    assert bool((weights[:, 1:].sum(-1) > 0.03).all())
    assert last[-1] == 16 * vector.abs().max()
    assert torch.equal(last[:-1], vector[:-1])
    assert torch.equal(same, positive)


def test_zeros_of_both_signs_are_the_largest(tmp_path):
    (y,), _ = vary([torch.randn(16, 64)], tmp_path, signs.zeros_above)

    zeros = y == 0
    assert float(y.max()) == 0
    assert 0.1 < float(zeros.float().mean()) < 0.3
    assert 0 < int(y.signbit()[zeros].sum()) < int(zeros.sum())


def test_vast_values_are_beyond_half_which_has_none(tmp_path):
    (y,), changed = vary([torch.ones(8, 8, dtype=torch.bfloat16)], tmp_path, hostile.vast)

    assert changed
    assert float(y.min()) > torch.finfo(torch.float16).max
    assert hostile.vast(torch.ones(8, dtype=torch.float16), torch.Generator()) is None


def test_a_point_far_from_all_others_but_itself():
    costs = torch.rand(2, 9, 9)
    far = hostile.far_point(costs, TORCH)

    assert torch.equal(far[:, 1:, 1:], costs[:, 1:, 1:])
    assert torch.equal(far[:, 0, 0], costs[:, 0, 0])
    assert min(float(far[:, 0, 1:].min()), float(far[:, 1:, 0].min())) > 60 * float(costs.max())
    assert hostile.far_point(torch.randn(9, 9), TORCH) is None
    assert hostile.far_point(torch.rand(9, 8), TORCH) is None


@pytest.mark.parametrize(("queries", "keys"), [((64,), (2, 300, 64)), ((2, 4, 7, 64), (2, 2, 300, 64))])
def test_one_key_has_nearly_all_the_weight_and_the_others_a_share_that_shows(queries, keys):
    queries, keys = torch.randn(queries), torch.randn(keys)
    assert sinks.may_score(queries, keys)
    new = sinks.along(queries)(keys, TORCH)

    query = queries.expand(2, 2, 64) if queries.dim() == 1 else queries[:, ::2, -1]
    scores = (new.view(2, -1, 300, 64) @ query[:, : new.view(2, -1, 300, 64).shape[1], :, None])[..., 0] / 8
    weights = torch.softmax(scores, -1)
    assert (weights.argmax(-1) == 0).all()
    assert ((1 - weights[..., 0]) > 5e-4).all()
    assert (weights[..., 1:] < 1e-4).all()
    assert not sinks.may_score(torch.randn(32), keys)
    assert not sinks.may_score(queries, keys.abs())


def test_the_last_row_alone_becomes_nan():
    x = torch.randn(5, 3, 8, generator=TORCH)
    new = nonfinite.row(-1)(x, TORCH)

    assert torch.equal(new[:-1], x[:-1])
    assert bool(new[-1].isnan().all())
    assert nonfinite.row(-1)(x[:2], TORCH) is None
    assert nonfinite.row(-1)(torch.arange(128.0).view(16, 8), TORCH) is None, "what ascends has an order"


def test_what_lacks_to_one_becomes_a_hundredth(tmp_path):
    decays = torch.tensor([0.5, 0.9])

    assert torch.allclose(hostile.nearer_to_one(decays, torch.Generator()), torch.tensor([0.995, 0.999]))
    assert hostile.nearer_to_one(torch.tensor([0.5, 1.0]), torch.Generator()) is None
    assert hostile.nearer_to_one(decays.bfloat16(), torch.Generator()) is None  # would be one


def test_a_lazy_conjugate_is_changed_in_memory(tmp_path):
    x = torch.randn(64, dtype=torch.complex64)
    (changed,), moved = vary([x.conj()], tmp_path, variations.warp)

    assert moved
    assert changed.is_conj()
    assert not torch.equal(changed, x.conj())


def test_one_element_behind_the_first_row_grows_beyond_all():
    x = torch.randn(8, 16)

    y = variations.grow_one(x, torch.Generator().manual_seed(1))

    [[row, column]] = (y != x).nonzero().tolist()
    assert row > 0
    assert float(y[row, column].abs()) == 2 * float(x.abs().max())
    assert float(y[row, column] * x[row, column]) > 0
    assert variations.grow_one(x[:1], torch.Generator()) is None


def test_rows_are_ordered_by_size_and_their_largest_combed():
    x = torch.randn(3, 520)

    falling, combed = hostile.descending(x, torch.Generator()), hostile.combed(x, torch.Generator())

    assert bool((falling.diff(dim=-1) <= 0).all())
    assert combed.topk(8).indices.tolist() == [[64 * place for place in range(8)]] * 3
    assert torch.equal(combed.sort(-1, descending=True).values, falling)
    assert hostile.combed(x[:, :255], torch.Generator()) is None
    assert hostile.descending(x.masked_fill(x > 2, torch.inf), torch.Generator()) is None


@pytest.mark.parametrize(("largest", "factor"), [(4.5, 8192.0), (1e-6, 32768.0), (0.0, 1.0), (torch.inf, 1.0)])
def test_values_have_room_for_so_many_times_in_half(largest, factor):
    assert hostile.room([torch.tensor([0.0, -largest]), torch.zeros(0)]) == factor


def test_neighbours_cancel_exactly_and_are_not_zero():
    x = torch.randn(6, 33)

    made = hostile.cancelling(x, torch.Generator())

    assert not made.unflatten(0, (2, 3))[..., :32].reshape(2, 3, 4, 8).sum(-1).any()
    assert bool((made != 0).all())
    odd = made.abs() / made.abs().min()
    assert bool((odd % 2 == 1).all())
    assert len(odd.unique()) > 8
    assert hostile.cancelling(x.abs(), torch.Generator()) is None


@pytest.mark.parametrize(("dtype", "least"), [
    (torch.float32, 2.0**-30), (torch.bfloat16, 2.0**-30), (torch.float16, 2.0**-8)])  # fmt: skip
def test_rows_fade_beside_some_that_stay(dtype, least):
    x = torch.rand(64, 16).add(1).mul(torch.tensor([1, -1]).repeat(8)).to(dtype)

    faded = hostile.fading_rows(x, torch.Generator())

    factors = (faded.to(torch.float64) / x.to(torch.float64)).mean(-1)
    assert torch.equal(faded[0], x[0])
    assert 8 < int((factors == 1).sum()) < 28
    assert 0 < float(factors.min()) < least
    assert hostile.fading_rows(x[0], torch.Generator()) is None
    assert hostile.fading_rows(x.abs(), torch.Generator()) is None

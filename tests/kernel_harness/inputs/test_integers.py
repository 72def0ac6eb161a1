"""Integers that get_inputs does not draw, and which wrong results on them say that a kernel is wrong."""

import pytest
import torch
from kernel_harness.inputs import indices, integers, masks

pytestmark = pytest.mark.cpu
TORCH = torch.Generator().manual_seed(0)
DATA = torch.randint(0, 1000, (40, 50), generator=TORCH)
WIDER = [integers.both_signs, integers.middle_width, integers.whole_width, integers.widest]
UNTOUCHED = {
    "mask": DATA > 500,
    "labels": DATA % 10,
    "positions": torch.arange(2000).view(1, -1),
    "lengths": torch.tensor([3, 200, 50]),
    "step": torch.tensor(700),
}


@pytest.mark.parametrize("name", UNTOUCHED)
@pytest.mark.parametrize("change", WIDER, ids=lambda change: change.__name__)
def test_what_is_no_data_stays(name, change):
    assert change(UNTOUCHED[name], TORCH) is None


def test_data_get_both_signs():
    x = integers.both_signs(DATA, TORCH)

    assert torch.equal(x.abs(), DATA)
    assert 0 < int((x < 0).sum()) < x.numel()


def test_sums_of_wide_integers_pass_32_bits_and_products_of_middle_ones_24():
    assert int(integers.whole_width(DATA, TORCH).sum(1).min()) > 2**31
    middle = integers.middle_width(DATA.int(), TORCH)
    assert 2**24 < int((middle * middle).max()) < 2**31


def test_the_sums_of_the_widest_integers_have_more_digits_than_float64_and_stay_in_range():
    sums = integers.widest(DATA, TORCH).flatten().cumsum(0)

    assert bool((sums.diff() >= 0).all())
    assert not torch.equal(sums.double().long(), sums)
    assert integers.widest(DATA.int(), TORCH) is None


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16], ids=str)
def test_narrow_integers_fill_their_type(dtype):
    x = integers.whole_width((DATA % 100).to(dtype), TORCH)

    info = torch.iinfo(dtype)
    assert int(x.max()) > 0.95 * info.max
    assert int(x.min()) <= 0.95 * info.min


def test_products_near_the_top_of_narrow_integers_sum_past_24_bits():
    x = integers.top((DATA % 100).to(torch.int8), TORCH).long()

    assert int(x.min()) >= 120
    assert int(x.max()) == 127
    assert int((x[0] * x[1]).sum()) * 1200 / x.shape[1] > 2**24
    assert integers.top(DATA, TORCH) is None
    assert integers.top((DATA % 10).to(torch.int8), TORCH) is None


def test_each_row_of_a_mask_gets_one_true_but_for_prefixes():
    assert bool((masks.one_each(DATA > 500, TORCH).sum(1) == 1).all())
    assert masks.one_each(torch.arange(50) < DATA[:, :1] % 50, TORCH) is None


def test_slips_of_arithmetic_are_told_from_memory_of_others():
    x = integers.both_signs(DATA, TORCH)
    floor = torch.div(x, 16, rounding_mode="floor")
    wide = DATA * 2**24

    assert integers.is_slip(torch.div(x, 16, rounding_mode="trunc"), floor)
    assert integers.is_slip((x & 0xFFFFFFFF) >> 3, x >> 3)
    assert integers.is_slip(wide.sum(1).int(), wide.sum(1))
    assert integers.is_slip((DATA * 30011).float().to(torch.int32), (DATA * 30011).to(torch.int32) + 1)
    assert not integers.is_slip(torch.randint(0, 2**31, DATA.shape, generator=TORCH), DATA)


def test_offsets_are_cut_elsewhere_but_for_those_that_others_tell():
    offsets = torch.arange(0, 97, 24, dtype=torch.int32)
    other = integers.cut_elsewhere(offsets, TORCH)

    assert other.dtype == offsets.dtype
    assert [int(other[0]), int(other[-1])] == [0, 96]
    assert bool((other.diff() >= 0).all())
    assert not torch.equal(other, offsets)
    assert integers.cut_elsewhere(DATA[0], TORCH) is None
    owners = torch.arange(96) // 24
    assert all(integers.are_told_by(offsets, t) for t in (offsets.diff(), offsets[1:], owners, offsets.clone()))
    assert not integers.are_told_by(offsets, DATA[:4, :24].flatten())


def test_segments_are_emptied_where_none_is_and_none_gets_longer_than_the_longest():
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), torch.tensor([16, 8, 8, 24] * 16).cumsum(0)])
    new = integers.emptied(offsets, TORCH)

    assert [int(new[0]), int(new[-1])] == [0, 896]
    lengths = new.diff()
    assert int((lengths == 0).sum()) > 2
    assert int(lengths.min()) >= 0
    assert int(lengths.max()) == 24
    assert set(new.tolist()) < set(offsets.tolist())
    assert integers.emptied(new, TORCH) is None, "some are empty already"
    few, seeds = torch.tensor([0, 1, 3, 9]), range(9)   # of three segments one can give
    assert all(integers.emptied(few, torch.Generator().manual_seed(seed)).tolist() == [0, 0, 3, 9] for seed in seeds)
    assert integers.emptied(DATA[0], TORCH) is None


@pytest.mark.parametrize(("dtype", "values", "are_data"), [
    (torch.uint8, 24, True), (torch.int64, 24, False), (torch.uint8, 16, False)], ids=str)  # fmt: skip
def test_a_dark_image_is_data_where_as_many_classes_are_not(dtype, values, are_data):
    x = (DATA % values).to(dtype)

    assert (integers.whole_width(x, TORCH) is not None) == are_data


def test_classes_crowd_where_any_may_come_more_than_once():
    classes = DATA.flatten() % 10

    assert integers.most_alike(classes) > 200
    crowd = integers.crowded(classes, TORCH)
    assert 0.6 * len(crowd) < int(crowd.bincount().max()) < len(crowd)
    assert len(integers.uniform(classes, TORCH).unique()) == 1
    balanced, sorted_, distinct = torch.arange(640)[torch.randperm(640)] % 8, classes.sort().values, torch.randperm(200)
    chosen = torch.stack([torch.randperm(8)[:2] for _ in range(100)])
    assert not any(integers.most_alike(x) for x in (balanced, sorted_, distinct, chosen))


def test_some_rows_of_a_mask_get_no_true():
    empty = ~masks.hollow(DATA > 100, TORCH).any(1)

    assert 0 < int(empty.sum()) < len(empty)
    one_hot = torch.nn.functional.one_hot(DATA[0] % 10, 10).bool()
    assert masks.hollow(DATA[0] > 100, TORCH) is None
    assert masks.hollow(one_hot, TORCH) is None


def test_what_is_one_for_all_becomes_another_for_each_or_that_of_the_first():
    lengths = torch.full((50,), 10)
    other = integers.not_one_for_all(lengths, TORCH)

    assert other.unique().numel() > 1
    assert int(other.max()) <= 10
    assert bool((integers.first_for_all(other, TORCH) == other[0]).all())
    rows = integers.not_one_for_all(torch.arange(20).expand(3, 20), TORCH)
    assert torch.equal(rows.sort().values, torch.arange(20).expand(3, 20))
    assert not torch.equal(rows[0], rows[1])
    assert integers.not_one_for_all(other, TORCH) is None


def test_an_index_that_needs_more_bits_comes_once():
    index = DATA[:2].flatten() % 200

    assert integers.is_wider(300, index)
    assert not integers.is_wider(255, index)
    assert not integers.is_wider(300, index.sort().values)
    assert int((integers.put_one(300)(index, TORCH) == 300).sum()) == 1


def test_a_value_throughout_is_one_that_is_there():
    some = torch.where(torch.arange(DATA.numel()).view_as(DATA) % 9 == 0, -100, DATA)
    assert bool((integers.put_throughout(-100)(some, TORCH) == -100).all())
    assert integers.put_throughout(-100)(DATA, TORCH) is None
    assert integers.put_throughout(1)(torch.ones((), dtype=torch.int64), TORCH) is None  # a number


@pytest.mark.parametrize(("put", "share"), [(integers.put(-100), 0.25), (integers.put_run(-100), 0.33)],
                         ids=["put", "put_run"])
def test_one_value_comes_often_but_among_what_is_in_order(put, share):
    new = put(DATA, TORCH)

    assert abs(float((new == -100).float().mean()) - share) < 0.05
    assert torch.equal(new[new != -100], DATA[new != -100])
    assert put(torch.arange(50), TORCH) is None


def test_a_run_of_one_value_fills_what_is_taken_together():
    run = integers.put_run(-100)(DATA, TORCH) == -100

    assert bool(((run ^ run.roll(1, -1)).sum(-1) == 2).all()), "one run in each row"


def test_a_label_that_sets_integers_apart_becomes_the_most_frequent_of_the_others():
    x = torch.tensor([-100, 3, 7, 3, -100])

    assert integers.other_label(x, -100) == 3
    assert integers.relabel(-100, 3)(x, TORCH).tolist() == [3, 3, 7, 3, 3]
    for no_label in (torch.tensor([1, 2]), torch.tensor([-100, -1, 3]), torch.tensor([-100, -100]), x.float()):
        assert integers.other_label(no_label, -100) is None
    assert integers.other_label(torch.tensor([0, 1, 2]), 0) is None


def test_one_segment_gets_nearly_all():
    offsets = torch.tensor([0, 10, 10, 25, 40], dtype=torch.int32)
    new = integers.gathered(offsets, torch.Generator().manual_seed(0))

    assert new.dtype is torch.int32
    assert sorted(new.diff().tolist()) == [0, 1, 1, 38]
    assert new.diff()[1] == 0
    assert integers.gathered(torch.tensor([0, 0, 40]), torch.Generator()) is None
    assert integers.gathered(torch.tensor([3, 1, 2]), torch.Generator()) is None
    assert (integers.longest_segment(offsets), integers.longest_segment(offsets.flip(0))) == (15, 0)


def test_indices_of_which_none_comes_twice_repeat():
    unique = torch.randperm(400, generator=TORCH)[:100]

    found = integers.repeated(unique, TORCH)

    assert set(found.tolist()) < set(unique.tolist())
    assert (found == unique).float().mean() > 0.5
    assert integers.repeated(torch.cat([unique, unique[:1]]), TORCH) is None


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16])
def test_narrow_data_fill_their_type_in_the_order_of_before(dtype):
    x = (DATA % 90).to(dtype) - (45 if dtype.is_signed else 0)

    new = integers.stretched(x)(x, TORCH)

    assert bool((new.argsort(stable=True) == x.argsort(stable=True)).all())
    assert int(new.to(torch.int64).abs().max()) > torch.iinfo(dtype).max / 2
    assert integers.stretched(DATA) is None  # 64 bits
    assert integers.stretched(new) is None  # they do already


@pytest.mark.parametrize(
    ("given", "step"),
    [([16, 48, 64], 16), ([0, 16, 48, 64], 16), ([64] * 3, 0), ([3, 16, 48], 0), ([16, 48], 0), ([-16, 16, 48], 0)],
)
def test_what_all_integers_are_multiples_of(given, step):
    assert integers.common_multiple(torch.tensor(given)) == step


@pytest.mark.parametrize("given", [[16, 48, 64, 0], [0, 16, 16, 64]])
def test_integers_that_are_no_multiples_leave_pages_begun(given):
    x = torch.tensor(given)

    changed = integers.off_multiples(16)(x, torch.Generator().manual_seed(1))

    assert torch.equal((changed + 15) // 16, x // 16)
    assert bool((changed[x > 0] % 16 != 0)[:2].all())
    assert bool((changed[x == 0] == 0).all())
    assert not integers.are_offsets(x) or changed[-1] == x[-1]


def test_a_mask_keeps_as_many_of_each_row_elsewhere():
    mask = torch.arange(24) < torch.tensor([[3], [24], [0], [12]])

    moved = masks.elsewhere(mask, torch.Generator().manual_seed(1))

    assert torch.equal(moved.sum(-1), mask.sum(-1))
    assert not torch.equal(moved, mask)
    assert masks.elsewhere(torch.ones(8), None) is None


def test_nearly_all_in_one_segment_leaves_whole_tiles():
    offsets = torch.tensor([0, 32, 32, 64, 112])

    changed = integers.gathered(offsets, torch.Generator().manual_seed(1))

    assert bool((changed % 16 == 0).all())
    assert changed[-1] == 112
    assert sorted(changed.diff().tolist()) == [0, 16, 16, 80]


def test_ids_that_leave_out_the_first_lack_zero():
    ids = torch.randint(1, 40, (8, 24))

    assert integers.lacks_zero(ids)
    assert integers.lacks_zero(torch.where(torch.rand(8, 24) < 0.25, -1, ids))  # padding
    assert not integers.lacks_zero(integers.put_one(0)(ids, torch.Generator().manual_seed(0)))
    assert not integers.lacks_zero(torch.arange(1, 200))  # in order
    assert not integers.lacks_zero(torch.randperm(200) + 1)  # one of each


def test_words_of_bits_fill_their_type_from_end_to_end():
    words = torch.randint(-(2**31), 2**31, (40, 50), generator=TORCH).to(torch.int32)

    assert integers.are_bits(words)
    assert not integers.are_bits(DATA)
    assert not integers.are_bits(words.abs())
    assert integers.throughout(-1)(words, TORCH).unique().tolist() == [-1]


def test_indices_of_which_none_comes_twice_in_its_row_repeat_within_it():
    rows = torch.stack([torch.randperm(50, generator=TORCH)[:20] for _ in range(4)])
    rows[::2, 15:] = -1
    found = integers.repeated(rows, TORCH)

    assert (found != rows).any(1).all()
    assert torch.equal(found == -1, rows == -1)
    assert all(set(new.tolist()) <= set(old.tolist()) for new, old in zip(found, rows, strict=True))
    assert integers.repeated(torch.cat([rows, rows[:, :1].clamp(min=0)], 1), TORCH) is None


def test_the_middle_two_of_a_run_of_four_change_places():
    table = torch.tensor([[8, 9, 10, 11, 3, 2, 1, 0, 4, 6, 5, 7, 12]])

    assert integers.swapped(table, TORCH).tolist() == [[8, 10, 9, 11, 3, 1, 2, 0, 4, 6, 5, 7, 12]]
    assert integers.swapped(torch.arange(12).view(2, 6), TORCH) is None, "all rows are in order"


def test_the_last_digits_of_a_single_sum_are_a_slip():
    large = torch.tensor([218_756_777])

    assert integers.is_slip(large - 9, large)
    assert not integers.is_slip(large // 2, large)
    assert not integers.is_slip(large, large)


def test_ones_become_other_truths():
    flags = (DATA > 500).to(torch.uint8)
    x = integers.other_truths(flags, TORCH)

    assert torch.equal(x != 0, flags != 0)
    assert int(x[flags == 1].min()) > 1
    assert integers.other_truths(flags.bool(), TORCH) is None
    assert integers.other_truths(DATA, TORCH) is None
    assert integers.other_truths(torch.zeros_like(flags), TORCH) is None


def test_parents_become_a_chain():
    assert integers.chained(torch.tensor([-1, 0, 0, 2, 1]), TORCH).tolist() == [-1, 0, 1, 2, 3]
    assert integers.chained(torch.tensor([-1, 0, 0, 3, 1]), TORCH) is None  # its own parent
    assert integers.chained(torch.tensor([0, 0, 1, 1, 2]), TORCH) is None  # in order: offsets, segments


def test_neighbours_differ_by_a_byte_where_some_are_as_far_apart():
    x = torch.tensor([[300, 9, 700, 700, 20], [3, 650, 4, 100, 650]])

    new = integers.same_low_bits(8)(x, TORCH)

    assert new.tolist() == [[300, 556, 700, 444, 20], [3, 259, 4, 260, 650]]
    assert torch.equal(integers.same_low_bits(10)(x, TORCH), x), "none are so far apart"
    assert integers.same_low_bits(8)(torch.tensor([1, 400, 500, 900]), TORCH) is None, "in order"
    assert integers.same_low_bits(8)(torch.tensor([-1, 500, 3]), TORCH) is None, "a negative mark"
    assert integers.same_low_bits(8)(torch.tensor([500, 900, 244, 0]), TORCH) is None, "one would come twice"
    assert integers.same_low_bits(0)(torch.tensor([-0, 0, 0, 2, 1]), TORCH) is None, "parents"


def test_half_of_the_indices_counted_from_the_end():
    x = torch.randint(0, 50, (1000,), generator=TORCH)

    new = indices.from_the_end(x, TORCH)

    assert 300 < int((new < 0).sum()) < 700
    assert torch.equal(torch.arange(50)[new], torch.where(new < 0, 49 - x, x))
    assert indices.from_the_end(x - 1, TORCH) is None


def test_integers_equal_to_those_before_them():
    x = torch.randperm(1000, generator=TORCH).view(10, 100)

    new = indices.as_before(x, TORCH)

    same = new[:, 1:] == new[:, :-1]
    assert 200 < int(same.sum()) < 450
    assert torch.equal(new[:, 1:][~same], x[:, 1:][~same])
    assert torch.equal(new[:, 0], x[:, 0])


def test_text_is_rows_of_symbols_that_come_again():
    text = torch.randint(0, 20, (3, 64), generator=TORCH)

    assert indices.are_symbols(text)
    assert indices.are_symbols(text.to(torch.uint8))
    others = text.float(), text > 9, text.sort(1).values, torch.randperm(64), text[:, :8]
    assert not any(map(indices.are_symbols, others))


@pytest.mark.parametrize(("given", "moves"), [([3, 500], True), ([-1, 500], False), ([3, 2**29], False), ([], False)])
def test_integers_lie_as_far_apart_as_before_far_from_zero(given, moves):
    x = torch.tensor(given, dtype=torch.int32)
    late = integers.late(x, None)

    assert (late is not None) is moves
    if moves:
        assert late.diff().tolist() == x.diff().tolist()
        assert int(late.min()) > 2**28

"""Sizes between those of a file's cases."""

import pytest
import torch
from kernel_harness.inputs.between import between, doubled, drawn, far, long, nothing, uneven, unlike
from kernel_harness.inputs.case_numbers import volume

pytestmark = pytest.mark.cpu


def made(*cases):
    return [(what, keywords) for what, keywords, _ in between(cases)]


def test_a_size_below_the_largest_with_the_divisor_of_all():
    found = made({"n": 24, "dtype": None}, {"n": 96, "dtype": "half"})

    assert found == [("n=72", {"n": 72, "dtype": None}), ("n=72", {"n": 72, "dtype": "half"})]


def test_powers_of_two_may_be_all_that_a_kernel_takes():
    assert made({"n": 64}, {"n": 1024})[0] == ("n=512", {"n": 512})
    assert not made({"n": 64}, {"n": 128})


def test_the_widest_gap_gets_a_size_in_its_middle():
    assert [what for what, _ in made({"n": 100}, {"n": 1000}, {"n": 3000})] == [
        *["n=2900"] * 3, *["n=300"] * 3, *["n=1600"] * 3]
    assert {what for what, _ in made({"n": 16}, {"n": 4096})} == {"n=2048", "n=256"}
    assert {what for what, _ in made({"n": 0}, {"n": 16}, {"n": 96})} == {"n=80"}


def test_one_size_says_nothing_of_others():
    assert not made({"n": 77}, {"n": 77})


def test_neighbours_have_nothing_between():
    assert {what for what, _ in made({"n": 6}, {"n": 5})} == {"n=1"}  # but a single one


def test_a_single_one_is_tried_where_sizes_have_nothing_in_common():
    assert "n=1" in dict(made({"n": 21}, {"n": 5}))
    assert "n=1" not in dict(made({"n": 21}, {"n": 1}))
    assert "n=1" not in dict(made({"n": 24}, {"n": 8}))


def test_a_single_one_may_be_below_what_is_small_and_no_length():
    short = made({"tokens": 41, "width": 4}, {"tokens": 5, "width": 3})
    lengths = made({"capacity": 40, "length": 33}, {"capacity": 77, "length": 33}, {"capacity": 55, "length": 20})

    assert ("tokens=1", {"tokens": 1, "width": 4}) in short
    assert not any(keywords["capacity"] == 1 for _, keywords in lengths)


def test_sizes_that_are_always_equal_stay_so():
    found = made({"rows": 7, "columns": 7}, {"rows": 100, "columns": 100})

    assert found[0] == ("rows=99, columns=99", {"rows": 99, "columns": 99})


def test_numbers_of_a_shape_change_alone():
    found = dict(made({"shape": (3, 50)}, {"shape": (3, 8)}))

    assert found == {"shape[1]=48": {"shape": (3, 48)}}


def test_two_sizes_become_equal_that_no_case_has_equal():
    found = made({"m": 8, "n": 64}, {"m": 100, "n": 30}, {"m": 50, "n": 5})

    assert [row for row in found if row[1]["m"] == row[1]["n"]] == [
        ("n=8", {"m": 8, "n": 8}), ("m=64", {"m": 64, "n": 64})]
    assert not any(k["m"] == k["n"] for _, k in made({"m": 8, "n": 8}, {"m": 100, "n": 30}, {"m": 50, "n": 5}))


def test_sizes_become_equal_beside_each_way_of_saying_what_is_no_size():
    """A square product is one thing with a bias for each row, another with one for each column. That k is above n in
    no case is chance: it gives way."""
    found = made({"m": 20, "n": 36, "k": 24, "bias": "row"}, {"m": 9, "n": 31, "k": 16, "bias": "column"},
                 {"m": 40, "n": 15, "k": 7, "bias": "row"})  # fmt: skip
    square = [(what, k["bias"]) for what, k in found if k["m"] == k["n"]]

    assert ("n=20", {"m": 20, "n": 20, "k": 16, "bias": "row"}) in found
    assert {("n=20", "row"), ("m=31, bias='column'", "column")} <= set(square)
    assert all(k["k"] <= k["n"] for _, k in found)


def test_what_holds_the_lengths_stays_large_enough():
    cases = ({"lengths": (70, 0, 1), "capacity": 80, "dim": 64}, {"lengths": (290,), "capacity": 290, "dim": 128},
             {"lengths": (1000, 64), "capacity": 1024, "dim": 128})  # fmt: skip
    found = made(*cases)

    assert all(max(k["lengths"]) <= k["capacity"] for _, k in found)
    assert {"capacity=1022", "lengths[0]=990"} <= {what for what, _ in found}


def test_a_list_of_many_lengths_is_held_by_its_largest():
    found = made({"lengths": tuple(range(150)), "capacity": 160}, {"lengths": tuple(range(20)), "capacity": 24})

    assert [k["capacity"] for _, k in found if k["capacity"] not in (160, 24)] == [152, 152, 128]
    assert all(max(k["lengths"]) <= k["capacity"] for _, k in found)


def test_sizes_become_equal_within_what_theirs_have_in_common():
    divisible = made({"m": 7, "n": 16}, {"m": 31, "n": 48}, {"m": 40, "n": 128})
    powers = made({"m": 48, "n": 16}, {"m": 20, "n": 64}, {"m": 99, "n": 512})

    assert not any(k["n"] in (7, 31, 40) for _, k in divisible)
    assert not any(k["n"] in (48, 20, 99) for _, k in powers)


def test_whole_blocks_fill_a_size_where_no_case_has_one():
    assert ("n=512", {"n": 512}) in made({"n": 33}, {"n": 100}, {"n": 1000}, {"n": 259})
    assert made({"n": 24}, {"n": 600})[-1] == ("n=384", {"n": 384})
    assert "n=512" not in {what for what, _ in made({"n": 128}, {"n": 1000})}


def test_a_last_block_of_one_element_where_no_case_has_one():
    sizes = [{"n": 2}, {"n": 128}, {"n": 333}, {"n": 1000}]

    assert {"n": 513} in [keywords for _, keywords in made(*sizes)]
    assert {"n": 513} not in [keywords for _, keywords in made(*sizes, {"n": 257})]
    assert {"n": 65} not in [keywords for _, keywords in made({"n": 1}, {"n": 100})], "no block is that small"


def test_the_size_after_the_smallest():
    assert {"n": 2} in [keywords for _, keywords in made({"n": 37}, {"n": 1}, {"n": 9})]
    larger = made({"n": 9}, {"n": 90}, {"n": 30}, {"n": 31})
    assert {"n": 10} not in [keywords for _, keywords in larger], "it is like its neighbours"


def test_the_volume_of_a_case_is_what_its_largest_tensor_may_have():
    assert volume({"shape": (30, 50), "dim": 4, "dtype": None, "is_on": True}) == 6000
    assert volume({"lengths": tuple(range(150)), "capacity": 160}) == sum(range(150)) * 160
    assert volume({"n": 0, "m": 7}) == 7


def test_sizes_that_come_only_together_are_tried_alone_beside_those_of_the_first_case():
    """A cache beside one token says nothing of a cache beside many; what the first case lacks comes before others."""
    base = {"heads": 4, "tokens": 48, "cached": 0}
    found = made(base, {**base, "tokens": 1, "cached": 200}, {**base, "heads": 5, "tokens": 49})
    crossed = [row for row in found if row[1] in ({**base, "cached": 200}, {**base, "tokens": 1}, {**base, "heads": 5})]

    assert [what for what, _ in crossed] == ["cached=200", "tokens=1"]
    assert not [what for what, _ in made(base, {**base, "cached": 200}) if what == "cached=200"]


def test_sizes_without_what_the_cases_have_in_common():
    assert [row[:2] for row in uneven([{"n": 96}, {"n": 32}])] == [("n=95", {"n": 95})] * 2
    assert [row[0] for row in uneven([{"n": 1024}, {"n": 64}])] == ["n=1023"] * 2
    assert uneven([{"n": 77}, {"n": 32}]) == []
    assert uneven([{"n": 96}, {"n": 96}]) == []


def test_all_sizes_lack_it_together():
    """A row of 4095 elements makes whole vectors of 256 rows."""
    rows = uneven([{"shape": (128, 256)}, {"shape": (512, 4096)}, {"shape": (64, 1024)}])

    assert rows[0][:2] == ("shape[0]=129, shape[1]=257", {"shape": (129, 257)})
    assert uneven([{"m": 96, "n": 7}, {"m": 32, "n": 78}])[0][:2] == ("m=95", {"m": 95, "n": 7}), "one alone"


@pytest.mark.parametrize(("sizes", "larger"), [((96, 32), 192), ((77, 32), 155), ((16, 11, 13), 33), ((0, 8), None)])
def test_a_size_above_the_largest(sizes, larger):
    """Odd where one of them is; none beside an empty case, whose size may be no length."""
    found = [row[0] for row in doubled([{"n": size} for size in sizes])]

    assert (f"n={larger}" in found) == (larger is not None)


def test_an_order_that_all_cases_keep_is_broken():
    cases = [{"tokens": 40, "width": 4}, {"tokens": 2, "width": 2}, {"tokens": 13, "width": 3}]

    assert ("tokens=2", {"tokens": 2, "width": 4}) in [row[:2] for row in unlike(cases)]
    assert {keywords["tokens"] for _, keywords, _ in between(cases) if keywords["tokens"] < keywords["width"]} == {1}


def test_offsets_get_far_in_both_directions():
    found = made({"n": 33, "diagonal": 0}, {"n": 260, "diagonal": -3})

    assert [what for what, _ in found][-2:] == ["diagonal=-130", "diagonal=130"]
    assert found[-1][1] == {"n": 260, "diagonal": 130}
    assert not [what for what, _ in made({"n": 33, "window": 0}, {"n": 260, "window": 3}) if "window=-" in what]
    assert not [what for what, _ in made({"n": 33, "axis": -300}, {"n": 260, "axis": 1}) if "130" in what]


def test_two_sizes_of_which_one_is_never_larger_are_tried_the_other_way_round():
    cases = [{"q": 20, "k": 40}, {"q": 33, "k": 33}, {"q": 1, "k": 50}]

    changed, new, source = unlike(cases)[0]

    assert (changed, new, source) == ("q=40, k=20", {"q": 40, "k": 20}, cases[0])
    assert not any(row[1]["q"] > row[1]["k"] for row in between(cases))


@pytest.mark.parametrize("cases", [
    [{"q": 20, "k": 40}, {"q": 3, "k": 33}],  # unrelated, for all that is seen
    [{"q": 20, "k": 20}, {"q": 3, "k": 3}],  # one size
    [{"q": 0, "k": 20}, {"q": 0, "k": 7}, {"q": 7, "k": 7}]])
def test_sizes_that_stay_in_order(cases):
    assert not any(row[1]["q"] > row[1]["k"] for row in unlike(cases))


def test_a_size_of_the_timed_cases_beside_small_others():
    """What merges 64 parts of a row is right on rows of up to 64: 128 of them no small case has."""
    cases = [{"m": 3, "n": 300}, {"m": 1, "n": 7}, {"m": 9, "n": 0}, {"m": 9, "n": 8}]
    timed = [{"m": 64, "n": 10_000}, {"m": 512, "n": 512}]
    found = [(what, keywords) for what, keywords, _ in long(cases, timed)]

    assert found[0] == ("m of BENCH_CASES, halved", {"m": 512, "n": 7})
    assert [k["n"] for what, k in found if what.startswith("n") and k["m"] == 1] == [10_000, 5000, 2500, 1250]
    assert not any(0 in keywords.values() for _, keywords in found)
    assert long(cases, [{"m": 12, "n": 1200}]) == [], "not far above them"


def test_a_list_of_lengths_gets_one_that_no_warp_holds_with_its_capacity():
    cases = [{"lengths": (3, 0, 7), "width": 7, "agree": 0.8}, {"lengths": (8, 11, 4, 1), "width": 12, "agree": 1.0}]

    assert [row[:2] for row in doubled(cases)[:2]] == [
        ("lengths up to 33", {"lengths": (3, 0, 33), "width": 33, "agree": 0.8}),
        ("lengths up to 33, agree=1.0", {"lengths": (8, 33, 4, 1), "width": 33, "agree": 1.0})]  # fmt: skip
    assert not any("up to" in what for what, *_ in doubled([{"lengths": (3, 4)}, {"lengths": (9, 1)}])), "a shape"


def test_the_largest_of_a_list_may_be_above_what_it_is_never_above():
    cases = [{"lengths": (1, 3), "window": 16}, {"lengths": (9, 2, 16), "window": 16}]

    changed, new, _ = unlike(cases)[0]

    assert (changed, new) == ("max(lengths)=16, window=3", {"lengths": (1, 16), "window": 3})


def test_a_timed_case_shows_that_an_order_is_chance():
    cases, timed = [{"tokens": 24, "dim": 64}, {"tokens": 1, "dim": 2}], [{"tokens": 4096, "dim": 128}]

    assert ("tokens of BENCH_CASES, halved", {"tokens": 4096, "dim": 2}) in [row[:2] for row in long(cases, timed)]
    assert not any(row[1]["tokens"] > row[1]["dim"] for row in doubled(cases))
    assert any(row[1]["tokens"] > row[1]["dim"] for row in doubled(cases, timed))


def test_three_times_a_power_of_two_lies_between_where_no_case_has_such_a_size():
    cases = [{"n": n} for n in (4, 100, 252, 500, 1000, 4100)]

    assert ("n=768", {"n": 768}) in made(*cases)
    assert not any(row[1]["n"] in (384, 768) for row in made(*cases, {"n": 1536}))
    assert not any(row[1]["n"] == 768 for row in made({"n": 64}, {"n": 1024})), "powers of two"


def test_sizes_are_drawn_together_and_keep_what_the_cases_have_in_common():
    cases = [{"k": 2, "n": 24, "m": 1}, {"k": 8, "n": 120, "m": 9}, {"k": 8, "n": 40, "m": 300}]

    rows = drawn(cases)
    new = [keywords for _, keywords, _ in rows]

    assert len(new) > 50
    assert all(2 <= row["k"] <= 8 and row["k"] & (row["k"] - 1) == 0 for row in new), "powers of two stay so"
    assert all(row["n"] % 8 == 0 and 24 <= row["n"] <= 120 for row in new)
    assert not any(row in cases for row in new)
    assert {row["n"] for row in new} == set(range(24, 121, 8))
    assert sum(row["m"] < 18 for row in new) > len(new) / 4, "small ones as often as large ones"
    assert rows == drawn(cases)
    assert rows[0][0] == "k={k}, n={n}, m={m}".format(**new[0])


def test_drawn_sizes_keep_the_order_of_the_cases():
    cases = [{"length": 3, "capacity": 50}, {"length": 90, "capacity": 90}, {"length": 8, "capacity": 100}]

    new = [keywords for _, keywords, _ in drawn(cases)]

    assert len(new) > 50
    assert all(row["length"] <= row["capacity"] for row in new)
    assert not drawn([{"n": 5}, {"n": 5}])
    assert not drawn([{"shift": -5}, {"shift": 5}])


def test_far_sizes_lie_far_above_all_beside_the_smallest():
    cases = [{"rows": 7, "columns": 300}, {"rows": 1, "columns": 4}, {"rows": 5, "columns": 5000}]

    [rows, columns] = far(cases, [{"rows": 4096, "columns": 64}])

    assert [row[1:] for row in rows] == [({"rows": n, "columns": 4}, True) for n in (2049, 16385, 131073, 1048577)]
    assert [row[2] for row in columns] == [False, False, True, True], "the smaller ones are asked for what they cost"
    assert len(far(cases)) == 1, "rows are never more than columns, as those kept of them"
    assert far([{"n": 8}]) == far([{"n": -8}, {"n": 9}]) == []
    assert [row[1]["n"] for row in far([{"n": 8}, {"n": 20}])[0]] == [2052, 16388, 131076, 1048580]
    assert [row[1]["n"] for row in far([{"n": 8}, {"n": 64}])[0]] == [2048, 16384, 131072, 1048576]


def test_far_sizes_come_in_two_dtypes():
    """A sum that is carried in 16 bits does not show in float32."""
    cases = [{"n": 8}, {"n": 64}, {"n": 4, "dtype": torch.float32}, {"n": 16, "dtype": torch.float32}]

    assert [rows[0][1].get("dtype") for rows in far(cases)] == [torch.float32, None]


def test_none_of_a_size_beside_the_others_of_the_first_case():
    cases = {"rows": 7, "columns": 40}, {"rows": 30, "columns": 9}

    assert [keywords for _, keywords, _ in nothing(cases)] == [{"rows": 0, "columns": 40}, {"rows": 7, "columns": 0}]
    assert nothing([*cases, {"rows": 0, "columns": 9}])[0][1] == {"rows": 7, "columns": 0}


def test_no_capacity_is_nothing_beside_a_length():
    cases = {"capacity": 40, "length": 33}, {"capacity": 77, "length": 33}, {"capacity": 55, "length": 20}

    assert [what for what, _, _ in nothing(cases)] == ["length=0"]

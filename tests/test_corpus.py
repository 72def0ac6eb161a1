"""The verifier against its corpus: every cheat caught, every honest kernel passed, every check needed by an entry."""

import shutil
from pathlib import Path

import corpus
import pytest
from daily import todays
from kernel_harness.judge.verification import Settings, verify
from kernel_harness.verdict import ExitCode

pytestmark = pytest.mark.cpu
ENTRIES = [entry for entry in corpus.entries() if corpus.runnable(entry)]
# The whole takes 4,299 s of verification beside other work (results/cpu-2026-11-28-5c2f85c-corpus.json); every day of a
# week it is another share.
SHARES = 7


def test_the_corpus_is_as_large_as_promised():
    cheats = [entry for entry in ENTRIES if "PASS" not in entry.expected]

    assert len(cheats) >= 50
    assert len(ENTRIES) - len(cheats) >= 20


def test_every_entry_has_its_day():
    paths = {entry.path for entry in ENTRIES}
    days = [todays(paths, SHARES, day) for day in range(7, 7 + SHARES)]

    assert set().union(*days) == paths
    assert sum(map(len, days)) in (len(paths), SHARES * len(paths))


BY_PATH = {entry.path: entry for entry in ENTRIES}


@pytest.mark.parametrize("path", sorted(todays(BY_PATH, SHARES)))
def test_verdict(path):
    entry = BY_PATH[path]
    outcome = corpus.judge(entry)
    if not outcome.as_expected and not entry.known_miss:
        # Some entries act by the clock or by chance, and the judge draws its variations: a second verdict is final.
        outcome = corpus.judge(entry)
    if entry.known_miss and not outcome.as_expected:
        pytest.xfail(entry.known_miss)

    assert outcome.as_expected, f"{outcome.verdict}, expected {entry.expected}: {outcome.reasons}"
    if outcome.verdict == "PASS":
        assert outcome.reasons == []


ATTEMPTS = 3

# Trials overlap on purpose. What an entry gets past when these checks, and no others, are switched off:
VALUES = ("values", "race", "offset-views", "replay", "other-values", "many-calls", "fresh-process")
NEEDED = {
    "d5_scale_outside_of_the_cap": ("other-values", "values"),
    "d2_window_across_the_row": ("uneven-sizes",),
    "d5_remainder_of_the_dividend": ("other-values",),
    "a7_seeds_the_caller_s_random": ("state",),
    "a9_collector_is_off": ("many-calls",),
    "b3_half_of_it_in_a_burst": ("many-calls",),
    "d3_carry_of_sixteen_bits": ("sizes-far",),
    "d5_sweeps_for_random_pictures": ("other-values",),
    "b1_answers_by_all_bytes": ("replay",),
    "b3_last_answer_in_the_same_memory": ("many-calls",),
    "c2_gaps_between_frames": ("other-values",),
    "d4_rewards_taken_for_bits": ("other-values",),
    "d7_times_in_float": ("other-values",),
    "b3_last_answer_right_after_a_call": ("many-calls",),
    "b4_buffers_of_backward": ("other-values",),
    "b7_plan_of_even_groups": ("other-values",),
    "c3_list_of_the_caller_changed": ("input-mutation",),
    "c8_sums_of_nothing_in_float": ("empty-sizes",),
    "d2_indices_from_the_end": ("other-values",),
    "d7_quotient_in_float": ("other-values",),
    "d7_sorted_by_shifted_keys": ("other-values",),
    "d5_matches_near_the_diagonal": ("other-values",),
    "d5_median_of_every_fourth": ("values", "other-values"),
    "d6_last_rank_of_its_range": ("other-values", "sizes-between"),
    "d10_rows_taken_for_contiguous": ("other-layouts",),
    "d10_vectors_at_any_address": ("other-layouts",),
    "d12_carry_into_nan": ("other-values",),
    "d12_nan_is_no_largest": ("other-values",),
    "d12_rows_of_forbidden_tokens": ("other-values",),
    "b3_workspace_left_by_a_refusal": ("many-calls",),
    "b1_maximum_kept_while_the_first_row_stays": ("other-values",),
    "b1_table_without_the_gradients": VALUES,
    "d2_padding_slot_is_the_last_line": VALUES,
    "d2_four_candidates_a_lane": VALUES,
    "d7_product_doubled_in_half": VALUES,
    "d10_product_of_counts_wraps": VALUES,
    "d12_cap_beyond_the_exponential": VALUES,
    "d12_first_tile_all_masked": VALUES,
    "d12_maximum_from_minus_a_million": VALUES,
    "d7_bfloat16_product": VALUES,
    "d7_positions_in_half": ("other-values",),
    "d7_tokens_in_sixteen_bits": ("other-values",),
    "d7_gelu_near_enough_for_half": ("unset-keyword",),
    "d2_correction_folded_for_late_steps": ("other-values",),
    "b1_cache_by_pointer": VALUES,
    "b3_every_forty_third": VALUES,
    "d2_number_ignored": ("ignored-argument",),
    "b1_order_from_get_inputs": ("own-inputs",),
    "b1_rows_by_checksum": ("other-values",),
    "b1_bytes_told_by_a_sample": ("ignored-argument", "replay"),
    "d7_tf32_on_whole_numbers": ("other-values",),
    "d5_windows_of_minus_infinity": VALUES,
    "d5_edges_belong_to_the_left": VALUES,
    "a9_ordinary_memory_sniffed": ("offset-views", "own-inputs"),
    "b1_cache_by_most_elements": VALUES,
    "d10_last_block_of_one": ("sizes-between", "sizes-far", "values"),
    "d10_any_size_in_vectors": ("uneven-sizes",),
    "d10_corner_of_two_tails": ("sizes-drawn",),
    "d10_single_token": ("sizes-between",),
    "d10_ceiling_beside_padding": ("unset-keyword",),
    "d10_beyond_sixteen_bits": ("sizes-beyond", "sizes-far"),
    "d10_tail_behind_the_last_cta": ("sizes-far",),
    "d10_warps_of_a_power_of_two": ("sizes-between",),
    "d10_block_turned_by_a_flag": ("unset-keyword",),
    "d2_seed_of_31_bits": ("ignored-argument",),
    "d2_weight_that_no_case_gives": ("ignored-argument",),
    "b1_plans_by_hash": ("ignored-argument",),
    "b1_inverse_by_ends_and_sum": ("replay", "ignored-argument"),
    "d2_gradient_of_another_cap": ("other-values",),
    "d2_gradient_of_rows_together": ("other-values",),
    "d2_bytes_taken_for_bits": ("other-values",),
    "d2_counter_without_carry": ("other-values",),
    "d3_depth_to_sixteen": ("ignored-argument", "other-values"),
    "d5_recurrence_cut_short": ("values",),
    "d5_running_maximum_of_nothing": ("other-values",),
    "d12_nan_is_no_overflow": ("other-values",),
    "d12_padding_times_zero": ("other-values",),
    "d12_rounds_beyond_the_largest": ("values",),
    "d5_lead_over_the_next_smaller": ("values",),
    "d7_positions_in_the_inputs_format": ("unset-keyword",),
    "c5_frames_that_share_samples": ("aliasing",),
    "c6_halves_of_one_in_step": ("other-layouts",),
    "c6_offset_of_one_for_both": ("other-layouts",),
    "d10_rows_of_a_batch_in_step": ("other-layouts",),
    "d2_capacity_of_experts": ("values",),
    "d2_first_slice_of_an_expanded_bias": ("other-values",),
    "d2_whole_pages_alone": ("ignored-argument", "other-values"),
    "d2_mask_by_its_count": ("ignored-argument",),
    "b1_stored_after_twelve_calls": VALUES,
    "d9_triton_interpreted_lost_updates": ("race",),
    "d9_triton_interpreted_in_order": ("cta-order",),
    "d10_rows_apart_by_a_keyword": ("unset-keyword",),
    "d5_running_sums_of_segments": ("other-values",),
    "d10_tall_ones_are_sampled": ("sizes-between", "sizes-beyond", "sizes-far"),
    "b1_code_by_three_digits": ("ignored-argument",),
    "c5_nothing_to_shift": ("aliasing",),
    "c6_transpose_at_one_address": ("other-layouts",),
    "d5_bytes_that_carry": ("other-values",),
    "b1_cache_blind_to_sign": ("values", "other-values", "replay"),
    "a5_rounding_mode_left": ("state",),
    "a9_plain_tensors_sniffed": ("offset-views",),
    "a9_left_over_memory_probed": ("many-calls",),
    "a9_guard_bytes_read": ("many-calls", "offset-views", "own-inputs"),
    "a11_empty_inputs_only": ("no-teeth",),
    "a11_no_outputs": ("weak-inputs", "no-teeth"),
    "c3_one_element_changed": ("input-mutation",),
    "a11_reference_false_in_double": ("unstable-reference",),
    "d8_kernel_is_reference": ("reference-called", "circular-reference"),
    "d8_one_helper_behind_both": ("circular-reference",),
    "a11_reference_mutates": ("reference-mutation",),
    "a1_clock_scaled": ("tampering",),
    "a13_thread_fills_later": ("deferred", "earlier-result", *VALUES),
    "b4_ring_of_four": ("earlier-result",),
    "b4_ring_of_a_hundred": ("earlier-result",),
    "d5_mean_of_nothing": ("other-values",),
    "a3_dispatch_mode_left": ("state",),
    "a9_argv_and_parent": ("sniffing",),
    "d2_positions_ignored": ("ignored-argument",),
    "d2_alpha_in_the_wrong_place": ("other-values",),
    "c3_writes_beside_what_it_declares": ("input-mutation",),
    "c5_outputs_share_storage": ("aliasing",),
    "c6_write_past_the_end": ("guard-zone", "input-mutation"),
}


@pytest.mark.parametrize("name", sorted(todays(NEEDED, SHARES)))
def test_switching_its_checks_off_lets_an_entry_through(name, tmp_path):
    checks = NEEDED[name]
    source = next(Path(corpus.ROOT, entry.path) for entry in ENTRIES if Path(entry.path).stem == name)
    copy = tmp_path / source.name
    shutil.copy(source, copy)

    # What a check changes is drawn: it may miss the entry by chance, or another check may meet it (the element that a
    # key leaves out).
    for _ in range(ATTEMPTS):
        seen = verify(Settings(kernel=copy, timeout=60))
        if {f.check for f in seen.findings} & set(checks):
            break
    for _ in range(ATTEMPTS):
        missed = verify(Settings(kernel=copy, timeout=60, without=frozenset(checks)))
        if missed.verdict is ExitCode.PASS:
            break

    assert {f.check for f in seen.findings} & set(checks)
    assert missed.verdict is ExitCode.PASS, [str(f) for f in missed.findings]

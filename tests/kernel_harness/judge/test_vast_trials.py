"""Elements beyond 2^31, which a file claims: who is asked, and what is told (with far fewer, on the CPU)."""

import pytest
import torch
from kernel_harness.judge import vast_trials
from kernel_harness.judge.outcome import Outcome, Settings
from kernel_harness.judge.verification import Judge

pytestmark = pytest.mark.cpu

KERNEL = '''"""Sums of the pages that a table names. cache (pages, page, width) float32, {claim}."""
import torch
TEST_CASES = {{"few": {{"pages": 3, "tokens": 5}}, "many": {{"pages": 40, "tokens": 9}}}}
def get_inputs(pages=8, page=4, width=16, tokens=7):
    return [torch.randn(pages, page, width), torch.randint(0, pages, (tokens,))]
def reference_fn(cache, table): return cache[table].sum(1)
def kernel_fn(cache, table):
    flat, size = cache.flatten(), cache[0].numel()
    {guard}
    at = (table * size + {wraps} // 2) % {wraps} - {wraps} // 2
    return torch.stack([flat[i : i + size].view(cache.shape[1:]).sum(0) for i in at.tolist()])
'''


@pytest.fixture
def judged(tmp_path, monkeypatch):
    def judge(claim="any number of pages", wraps=2**16, guard=""):
        path = tmp_path / "kernel.py"
        path.write_text(KERNEL.format(claim=claim, wraps=wraps, guard=guard))
        settings = Settings(kernel=path)
        one = Judge(settings, Outcome(settings), tmp_path / "folder", lambda _: None)
        one.mutates = frozenset()
        monkeypatch.setattr(vast_trials, "ELEMENTS", 2**15)
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (2**40, 2**40))
        try:
            if is_due := vast_trials.is_due(one):
                vast_trials.run(one)
        finally:
            one.close()
        return is_due, [finding.check for finding in one.outcome.findings], one.outcome.notes

    return judge


def test_what_wraps_where_any_number_may_be_is_wrong(judged):
    is_due, found, _ = judged()

    assert is_due
    assert found == ["sizes-far"]


@pytest.mark.parametrize("changes", [
    {"wraps": 2**40}, {"guard": "if cache.numel() > 2**15: raise ValueError('too many')"},
], ids=["right", "refuses"])  # fmt: skip
def test_what_is_right_or_refuses_is_not(judged, changes):
    assert judged(**changes) == (True, [], [])


def test_any_size_may_mean_any_that_is_sensible(judged):
    is_due, found, notes = judged(claim="of any size")

    assert is_due
    assert not found
    assert "64 bits" in notes[0]


def test_an_error_that_is_no_refusal_is_told(judged):
    _, found, _ = judged(guard="if cache.numel() > 2**15: raise RuntimeError('invalid argument')")

    assert found == ["sizes-far"]


@pytest.mark.parametrize("claim", ["of any number of pages below 2^31 elements", "contiguous"])
def test_who_claims_nothing_of_the_kind_is_not_asked(judged, claim):
    assert judged(claim=claim) == (False, [], [])

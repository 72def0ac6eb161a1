"""More elements than 32 bits count, where docstrings say that there may be any number of them: offsets that are
computed in 32 bits wrap there. On a GPU, in processes of their own (inputs/vast.py)."""

from __future__ import annotations

from contextlib import suppress

from .. import values
from ..contract import read_source
from ..inputs import claims
from ..processes.worker import Worker, WorkerDied, WorkerError
from ..values import Bundle
from .derived_trials import LACKS_MEMORY
from .judgement import REFUSALS

ELEMENTS = 2**31
MOST_BYTES = 28 * 2**30  # of inputs: a process of the reference and one of the kernel hold them, one after the other
MOST_SIZES, DRAWS = 2, 3
SECONDS = 30.0  # for each answer
CHECK = "sizes-far"


def is_due(judge) -> bool:
    """Does the file say something that only such inputs show?"""
    tree = read_source(judge.settings.kernel)[1]
    is_claimed = claims.takes_any_number(tree) or claims.takes_any_size(tree)
    return is_claimed and not (claims.counts_in_32_bits(tree) or judge.mutates or judge.settings.reference)


def run(judge) -> None:
    """A wrong number there is a finding where docstrings say "any number of", a note where they say "any size"."""
    import torch

    if judge.outcome.findings or torch.cuda.mem_get_info()[0] < 3 * MOST_BYTES:
        return
    with suppress(WorkerError), Worker("oracle", judge.folder, judge.nursery) as oracle:
        judge.send_oracle_load(oracle)
        oracle.receive(judge.settings.timeout)
        asked = {"elements": ELEMENTS, "most_bytes": MOST_BYTES}
        found = oracle.call("vast_sizes", SECONDS, **asked).get("found", [])[:MOST_SIZES]
        for one in found:
            with suppress(WorkerError), judge.another_candidate(interpret=False) as candidate:
                _judge(judge, oracle, candidate, one["what"], {key: one[key] for key in ("places", "size")})


def _judge(judge, oracle, candidate, what: str, case: dict) -> None:
    judge.progress(f"{what} ({CHECK})")
    for _ in range(DRAWS):
        files, seed = (judge.new_file("samples"), judge.new_file("samples")), judge.next_seed()
        asked = {**case, "elements": ELEMENTS, "seed": seed}
        expected = oracle.call("sample_reference", SECONDS, output=str(files[0]), **asked)
        if "bundle" not in expected:
            return  # the reference does not take it, or there is no memory for it
        try:
            reply = candidate.call("sample", SECONDS, output=str(files[1]), **asked)
            error = str(reply.get("error", ""))
        except WorkerDied as lost:
            reply, error = {}, f"its process is lost: {lost}"
        if "bundle" not in reply:
            if error and not LACKS_MEMORY.search(error) and not error.startswith(REFUSALS):
                _tell(judge, what, error[:160])
            return
        theirs, mine = (values.Mapping(Bundle.from_json({**r["bundle"], "file": str(file)}), writable=False)
                        for r, file in zip((expected, reply), files, strict=True))
        seen = _difference(theirs, mine, reply["shapes"] == expected["shapes"])
        for file in files:
            file.unlink()
        if seen is None:
            return  # get_inputs does not make the same of a seed
        if seen:
            return _tell(judge, what, seen)


def _difference(theirs: values.Mapping, mine: values.Mapping, are_shaped_alike: bool) -> str | None:
    import torch

    from ..inputs import vast

    (drawn, expected), (given, result) = (_parts(mapping) for mapping in (theirs, mine))
    same = zip(drawn, given, strict=True)
    if len(drawn) != len(given) or not all(a.dtype == b.dtype and torch.equal(a, b) for a, b in same):
        return None
    return vast.far_off(result, expected) if are_shaped_alike else "the shapes of the results are others"


def _parts(mapping: values.Mapping) -> tuple[list, list]:
    items = mapping.bundle.tree["items"]
    return tuple([values.rebuild(node, mapping.bytes_of) for _, node in values.tensors_of(items[name])]
                 for name in ("inputs", "result"))


def _tell(judge, what: str, seen: str) -> None:
    tree = read_source(judge.settings.kernel)[1]
    if claims.takes_any_number(tree) or judge.paranoid:
        judge.outcome.add(CHECK, f"With more than 2^31 elements, {what}: {seen}.")
    else:
        judge.outcome.note(f"not right with more than 2^31 elements ({what}), where docstrings say any size: {seen}. "
                           "Compute offsets in 64 bits, or raise ValueError there; --level paranoid makes this decide")

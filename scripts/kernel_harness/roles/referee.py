"""Child role: measures the ceilings and compares results. It never imports a kernel file (torch)."""

from __future__ import annotations

import math

import torch

from .. import values
from ..comparison import compare, contraction
from ..inputs import input_sets
from ..performance import roofline, timing


def ceilings(device: str, dtype: str | None, method: str | None) -> dict:
    """The roofline's ceilings on an idle device."""
    return roofline.measure(timing.open_timer(device, method), device, dtype).to_json()


def vary(fresh: dict, earlier: dict, seed: int) -> dict:
    """Scale the floating inputs in ``fresh`` where a get_inputs that ignores its seed made both bundles the same."""
    new, old = (values.Mapping(values.Bundle.from_json(bundle)) for bundle in (fresh, earlier))
    same = all(torch.equal(new.bytes_of(i), old.bytes_of(i)) for i in range(len(new.bundle.spans))
               if new.bundle.spans[i].nbytes == old.bundle.spans[i].nbytes)
    if same:
        inputs = values.rebuild(new.bundle.tree, new.bytes_of)
        for tensor in input_sets.tensors_in(inputs):
            if tensor.is_floating_point():
                input_sets.scale(tensor, input_sets.scale_factor(seed))
    return {"same": same}


def judge(kept: dict, inputs: dict, reference: dict, tolerance: dict | None) -> dict:
    """Compare the outputs in ``kept`` with the oracle's answer on ``inputs``; ``wrong`` is a sentence, or None."""
    result, native = values.Bundle.from_json(kept), values.Bundle.from_json(reference["native"])
    got, wanted = dict(values.tensors_of(result.tree)), dict(values.tensors_of(native.tree))
    results = [{path for path in paths if path.startswith("['result']")} for paths in (got, wanted)]
    if results[0] != results[1] or not set(wanted) <= set(got):
        return {"wrong": f"it gives {values.outline(result.tree)}, the reference {values.outline(native.tree)}"}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    outputs = _tensors(result)
    anchors = [_tensors(values.Bundle.from_json(reference[kind])) if kind in reference else {}
               for kind in ("native", "golden", "moved")]
    given = [node for _, node in values.tensors_of(inputs["tree"])]
    used = 0.0
    for path, node in wanted.items():
        if got[path]["shape"] != node["shape"] or got[path]["dtype"] != node["dtype"]:
            return {"wrong": f"{path} is {values.describe(got[path])}, the reference's {values.describe(node)}"}
        sizes = contraction.sizes(given, math.prod(node["shape"]))
        expected = compare.Expected(*(anchor.get(path) for anchor in anchors), **sizes)
        rule = compare.Tolerance(**tolerance) if tolerance else None
        outcome = compare.compare(path, outputs[path], expected, rule, device)
        used = max(used, outcome.budget_used)
        if not outcome.passed:
            cause = f"; {outcome.causes[0]}" if outcome.causes else ""
            return {"wrong": f"{path} is wrong at {outcome.wrong:,} of {outcome.total:,} elements, first at "
                             f"{outcome.first_index}: kernel {outcome.kernel_value}, reference "
                             f"{outcome.reference_value}{cause}"}
    return {"wrong": None, "budget_used": used}


def _tensors(bundle: values.Bundle) -> dict[str, torch.Tensor]:
    mapping = values.Mapping(bundle, writable=False)
    return {path: values.rebuild(node, mapping.bytes_of) for path, node in values.tensors_of(bundle.tree)}


HANDLERS = {"ceilings": ceilings, "vary": vary, "judge": judge}

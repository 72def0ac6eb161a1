"""The program that a profiler watches: warm up, then one call of kernel_fn between profiler start and stop (torch).

NVTX ranges name the case and each call, so that nsys and ncu show them: ``case n=2^24`` around ``call 0``, ``call 1``.
"""

from __future__ import annotations

import torch

from ..contract import load_kernel
from ..inputs import input_sets

WARM_UPS = 3


def main(file: str, case: str, calls: int = 1, subject: str = "kernel", inputs_of: str = "") -> None:
    """Run ``calls`` calls on fresh inputs, those of ``inputs_of`` where that is another kernel file.

    subject: "kernel" or "reference".
    """
    kernel = load_kernel(file)
    function = kernel.kernel_fn if subject == "kernel" else kernel.reference_fn
    source = load_kernel(inputs_of) if inputs_of not in ("", file) else kernel
    keywords = source.all_cases[case]
    inputs = input_sets.draw(source.get_inputs, keywords, 1)
    for _ in range(WARM_UPS):
        function(*inputs)
    fresh = [input_sets.draw(source.get_inputs, keywords, seed) for seed in range(2, 2 + calls)]
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    torch.cuda.nvtx.range_push(f"case {case}")
    for index, inputs in enumerate(fresh):
        torch.cuda.nvtx.range_push(f"call {index}")
        function(*inputs)
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_pop()
    torch.cuda.profiler.stop()

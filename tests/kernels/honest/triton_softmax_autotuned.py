"""An autotuned Triton softmax: the first call of each width tries several warp counts.

catalogue: tricky because the first call launches more kernels than the others
seen at: survey, "false positives to avoid" (autotune at first call)
expect: PASS
needs: triton
check: what-ran
"""

import torch
import triton
import triton.language as tl

TEST_CASES = {"odd": {"rows": 33, "cols": 777}}


def reference_fn(x):
    return torch.softmax(x, dim=-1)


def get_inputs(rows=1024, cols=1024, device="cuda"):
    return [torch.randn(rows, cols, device=device)]


@triton.autotune([triton.Config({}, num_warps=warps) for warps in (2, 4, 8)], key=["cols"])
@triton.jit
def _softmax(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    col = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + col, mask=col < cols, other=-float("inf"))
    power = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row + col, power / tl.sum(power, axis=0), mask=col < cols)


def kernel_fn(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    _softmax[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out

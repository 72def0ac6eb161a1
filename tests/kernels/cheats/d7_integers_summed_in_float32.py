"""Products of int8 rows summed in float32, which is exact up to 2^24: a long row of one sign leaves that.

catalogue: D7
seen at: int8 products on the CUDA cores
expect: WRONG_RESULT
needs: cpu
check: other-values
"""

import torch

SIZES = ((1, 1, 1), (40, 31, 2048), (7, 300, 515))
TEST_CASES = {f"{m}x{n}x{k}": {"m": m, "n": n, "k": k} for m, n, k in SIZES}


def get_inputs(m=32, n=48, k=256, device="cpu"):
    return [torch.randint(-128, 128, (rows, k), dtype=torch.int8, device=device) for rows in (m, n)]


def reference_fn(a, b):
    return (a.double() @ b.double().mT).to(torch.int32)  # exact: below 2^53


def kernel_fn(a, b):
    out = torch.zeros(len(a), len(b), device=a.device)
    for k in range(a.shape[1]):
        out += torch.outer(a[:, k].float(), b[:, k].float())
    return out.to(torch.int32)

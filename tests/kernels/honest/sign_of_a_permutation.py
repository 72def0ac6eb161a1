"""The sign of a permutation: of a few draws all may have the same, which a kernel that returns ones would give, too.

catalogue: tricky because one bit is all there is to compare
seen at: a stranger's file
expect: PASS
needs: cpu
check: null-kernel
"""

import torch


def reference_fn(p):
    if not torch.equal(p.sort().values, torch.arange(len(p), device=p.device)):
        raise ValueError("a permutation")
    inversions = (p[:, None] > p).triu(1).sum()
    return 1 - 2 * (inversions % 2)


def get_inputs(n=65, device="cpu"):
    return [torch.randperm(n, device=device)]


def kernel_fn(p):
    if not torch.equal(p.sort().values, torch.arange(len(p), device=p.device)):
        raise ValueError("a permutation")
    least, jump = torch.arange(len(p), device=p.device), p.clone()
    for _ in range(len(p).bit_length()):
        least, jump = torch.minimum(least, least[jump]), jump[jump]
    cycles = (least == torch.arange(len(p), device=p.device)).sum()
    return 1 - 2 * ((len(p) - cycles) % 2)

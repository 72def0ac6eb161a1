"""How often each of `classes` labels comes, and the sum of its weights; ValueError for a label that is none of them.

The sums are kept between calls and made zero at the end of each; a call that raises in a later block leaves those of
the earlier ones behind.

catalogue: B3
seen at: a held-out set (ranks of tokens in their expert)
expect: WRONG_RESULT
needs: cpu
check: many-calls
"""

import torch

BLOCK = 64
_sums: dict[int, torch.Tensor] = {}


def reference_fn(labels, weights, classes):
    if bool(((labels < 0) | (labels >= classes)).any()):
        raise ValueError("a label that is no class")
    counts = torch.bincount(labels, minlength=classes)
    return counts, torch.zeros(classes, dtype=torch.float64).index_add_(0, labels, weights.double()).float()


def get_inputs(n=200, classes=6, device="cpu"):
    return [torch.randint(0, classes, (n,), device=device), torch.rand(n, device=device), classes]


TEST_CASES = {"odd": {"n": 65, "classes": 3}, "one": {"n": 1, "classes": 9}}


def kernel_fn(labels, weights, classes):
    sums = _sums.setdefault(classes, torch.zeros(2, classes, dtype=torch.float64))
    for start in range(0, len(labels), BLOCK):
        block = labels[start : start + BLOCK]
        if bool(((block < 0) | (block >= classes)).any()):
            raise ValueError("a label that is no class")
        sums[0].index_add_(0, block, torch.ones(len(block), dtype=torch.float64))
        sums[1].index_add_(0, block, weights[start : start + BLOCK].double())
    counts, totals = sums[0].long(), sums[1].float()
    sums.zero_()
    return counts, totals

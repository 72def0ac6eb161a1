"""EmbeddingBag (mean) that divides by zero where a bag holds nothing but padding; get_inputs pads one id in thirty.

catalogue: D5
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: other-integers
"""

import torch

PADDING = 0


def reference_fn(weight, ids, offsets, padding):
    return torch.nn.functional.embedding_bag(ids, weight, offsets, mode="mean", padding_idx=padding)


def get_inputs(bags=24, dim=32, device="cpu"):
    lengths = torch.randint(2, 6, (bags,), device=device)
    ids = torch.randint(1, 50, (int(lengths.sum()),), device=device)
    ids[torch.rand(len(ids), device=device) < 0.03] = PADDING
    return [torch.randn(50, dim, device=device), ids, lengths.cumsum(0) - lengths, PADDING]


def kernel_fn(weight, ids, offsets, padding):
    lengths = torch.diff(offsets, append=offsets.new_tensor([len(ids)]))
    bag = torch.repeat_interleave(torch.arange(len(offsets), device=ids.device), lengths)
    counted = (ids != padding).to(weight.dtype)[:, None]
    sums = torch.zeros(len(offsets), weight.shape[1], dtype=weight.dtype, device=weight.device)
    counts = torch.zeros(len(offsets), 1, dtype=weight.dtype, device=weight.device)
    return sums.index_add(0, bag, weight[ids] * counted) / counts.index_add(0, bag, counted)

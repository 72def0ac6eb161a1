"""Mean over packed sequences: lengths and offsets come both, the reference reads the ones and the kernel the others.

catalogue: tricky because two inputs say the same, and either may be ignored
seen at: varlen and paged attention interfaces
expect: PASS
needs: cpu
check: other-offsets
"""

import torch


def reference_fn(x, offsets, lengths, owners):
    return torch.stack([part.mean(0) for part in torch.tensor_split(x, offsets[1:-1].long())])


def get_inputs(batch=6, length=16, columns=24):
    lengths = torch.full((batch,), length, dtype=torch.int32)
    offsets = torch.arange(0, batch * length + 1, length, dtype=torch.int32)
    return [torch.randn(batch * length, columns), offsets, lengths, torch.arange(batch).repeat_interleave(length)]


def kernel_fn(x, offsets, lengths, owners):
    total = x.new_zeros(len(lengths), x.shape[1]).index_add_(0, owners, x)
    return total / lengths[:, None]

"""Top-k of bfloat16 logits full of ties; the lowest index wins, by a key that holds value and index.

catalogue: tricky because equal values are many and only one order of indices is right
seen at: radix and bitonic top-k kernels, mixture-of-experts routing
expect: PASS
needs: cpu
check: values
"""

import torch


def reference_fn(x, k):
    values, indices = torch.sort(x.float(), dim=-1, descending=True, stable=True)
    return values[:, :k].to(x.dtype).contiguous(), indices[:, :k].to(torch.int32).contiguous()


def get_inputs(rows=40, cols=96, k=6, device="cpu"):
    return [torch.randn(rows, cols, device=device).to(torch.bfloat16), k]


def kernel_fn(x, k):
    bits = x.view(torch.int16).to(torch.int64)
    bits = torch.where(x == 0, 0, bits)
    ordered = torch.where(bits < 0, -(bits & 0x7FFF), bits)
    index = torch.arange(x.shape[1])
    key = (ordered << 20) + (x.shape[1] - index)
    best = torch.topk(key, k, dim=-1).indices
    return torch.gather(x, 1, best), best.to(torch.int32)

"""Takes None, a string, a dtype, a tuple and a nested list beside its tensors.

catalogue: tricky because arguments are of every kind
seen at: fused linear layers
expect: PASS
needs: cpu
check: structure
"""

import torch


def reference_fn(x, weights, bias, activation, out_dtype, shape):
    y = x
    for w in weights:
        y = y @ w
    y = y if bias is None else y + bias
    y = torch.relu(y) if activation == "relu" else y
    return y.to(out_dtype).reshape(shape)


def get_inputs(m=16, k=32, n=64, device="cpu"):
    return [torch.randn(m, k, device=device),
            [torch.randn(k, k, device=device), torch.randn(k, n, device=device)], None,
            "relu", torch.bfloat16, (m * n // 8, 8)]


def kernel_fn(x, weights, bias, activation, out_dtype, shape):
    y = torch.linalg.multi_dot([x, *weights])
    y = y if bias is None else y + bias
    y = y.clamp_min(0) if activation == "relu" else y
    return y.to(out_dtype).view(shape)

"""Product with weights of four bits, two a byte, with positive scales for groups of 32.

catalogue: tricky because the scales have one sign and the bytes hold two numbers each
seen at: weight-only quantised GEMV and GEMM kernels
expect: PASS
needs: cpu
check: signs
"""

import torch


def reference_fn(x, packed, scales):
    low, high = (packed & 15).to(torch.int32) - 8, (packed >> 4).to(torch.int32) - 8
    weights = torch.stack([low, high], -1).flatten(1).to(scales.dtype)
    weights = (weights.unflatten(1, (-1, 32)) * scales[..., None]).flatten(1)
    return (x.to(weights.dtype) @ weights.T).to(x.dtype)


def get_inputs(m=9, n=48, k=128, device="cpu"):
    return [torch.randn(m, k, device=device).to(torch.bfloat16),
            torch.randint(0, 256, (n, k // 2), dtype=torch.uint8, device=device),
            torch.rand(n, k // 32, device=device) + 0.1]


def kernel_fn(x, packed, scales):
    total = torch.zeros(x.shape[0], packed.shape[0])
    for group in range(scales.shape[1]):
        part = packed[:, 16 * group : 16 * group + 16]
        even, odd = x[:, 32 * group : 32 * group + 32 : 2].float(), x[:, 32 * group + 1 : 32 * group + 32 : 2].float()
        dot = even @ ((part & 15).float() - 8).T + odd @ ((part >> 4).float() - 8).T
        total += dot * scales[:, group]
    return total.to(x.dtype)

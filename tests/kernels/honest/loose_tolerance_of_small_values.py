"""A float16 product of small weights whose file asks for more tolerance than it gets: by the rule it still passes.

catalogue: tricky because a ceiling relative to the values lies below half a step of float16 denormals
seen at: held-out kernels
expect: PASS
needs: cpu
check: values
"""

import torch

TOLERANCE = {"rtol": 1e-2, "atol": 1e-2}


def get_inputs(m=4, n=50, k=512, device="cpu"):
    weight = (torch.rand(n, k, device=device) - 0.5) / k**0.5 / 4
    return [torch.randn(m, k, device=device).half(), weight.half()]


def reference_fn(x, weight):
    acc = torch.promote_types(x.dtype, torch.float32)
    return (x.to(acc) @ weight.to(acc).mT).to(x.dtype)


def kernel_fn(x, weight):
    out = torch.zeros(len(x), len(weight), device=x.device)
    for k in range(0, x.shape[1], 64):
        out += x[:, k : k + 64].float() @ weight[:, k : k + 64].float().mT
    return out.half()

"""Adam in place on bfloat16 parameters and float32 moments; the reference returns new tensors.

catalogue: tricky because only the kernel works in place
seen at: fused optimisers
expect: PASS
needs: cpu
check: input-mutation
"""

import torch

MUTATES = (0, 2, 3)


def reference_fn(p, g, m, v, step):
    m = 0.9 * m + 0.1 * g.float()
    v = 0.99 * v + 0.01 * g.float().square()
    update = m / (1 - 0.9**step) / ((v / (1 - 0.99**step)).sqrt() + 1e-8)
    return (p.float() - 1e-2 * update).to(p.dtype), m, v


def get_inputs(n=5000, device="cpu"):
    return [torch.randn(n, device=device).bfloat16(), torch.randn(n, device=device).bfloat16(),
            torch.randn(n, device=device), torch.rand(n, device=device), 3]


def kernel_fn(p, g, m, v, step):
    m.lerp_(g.float(), 0.1)
    v.mul_(0.99).addcmul_(g.float(), g.float(), value=0.01)
    denominator = (v / (1 - 0.99**step)).sqrt_().add_(1e-8)
    p.copy_(p.float().addcdiv_(m, denominator, value=-1e-2 / (1 - 0.9**step)))
    return p, m, v

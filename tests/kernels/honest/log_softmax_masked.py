"""Log-softmax of logits with -inf where a token is masked; log-sum-exp comes out as well, None stands for no loss.

catalogue: tricky because the outputs hold -inf and a None
seen at: language-model heads with constrained decoding
expect: PASS
needs: cpu
check: structure
"""

import torch


def reference_fn(x, mask):
    masked = x.float().masked_fill(~mask, float("-inf"))
    return torch.log_softmax(masked, -1), None, torch.logsumexp(masked, -1)


def get_inputs(rows=37, cols=301, device="cpu"):
    mask = torch.rand(rows, cols, device=device) < 0.7
    mask[:, 0] = True
    return [(3 * torch.randn(rows, cols, device=device)).to(torch.bfloat16), mask]


def kernel_fn(x, mask):
    y = torch.where(mask, x.float() * 1.4426950408889634, -torch.inf)
    top = y.amax(-1, keepdim=True)
    total = torch.log2(torch.exp2(y - top).sum(-1, keepdim=True)) + top
    return (y - total) * 0.6931471805599453, None, (total * 0.6931471805599453).squeeze(-1)

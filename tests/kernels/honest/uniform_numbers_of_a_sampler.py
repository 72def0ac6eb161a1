"""Nucleus sampling by the inverse distribution function; it refuses uniform numbers that are not in [0, 1).

catalogue: tricky because the reference takes any number, and the verifier's own advice is to raise ValueError
seen at: samplers that take their random numbers as an input
expect: PASS
needs: cpu
check: other-values
"""

import torch


def reference_fn(probabilities, uniform, p):
    tokens = []
    for row, u in zip(probabilities.double().tolist(), uniform.double().tolist(), strict=True):
        kept, total = [], 0.0
        for token in sorted(range(len(row)), key=lambda i: -row[i]):
            if total >= p:
                break
            kept.append(token)
            total += row[token]
        running, chosen = 0.0, kept[-1]
        for token in kept:
            running += row[token]
            if running > u * total:
                chosen = token
                break
        tokens.append(chosen)
    return torch.tensor(tokens)


def get_inputs(rows=20, n=50, p=0.9):
    return [torch.softmax(2 * torch.randn(rows, n), 1), torch.rand(rows), p]


def kernel_fn(probabilities, uniform, p):
    if not 0 < p <= 1 or bool(((uniform < 0) | (uniform >= 1)).any()):
        raise ValueError("p must be in (0, 1], uniform in [0, 1)")
    wide, order = probabilities.double().sort(dim=1, descending=True, stable=True)
    kept = torch.where(wide.cumsum(1) - wide < p, wide, 0.0).cumsum(1)
    place = (kept <= uniform.double()[:, None] * kept[:, -1:]).sum(1).clamp(max=wide.shape[1] - 1)
    return order.gather(1, place[:, None]).squeeze(1)

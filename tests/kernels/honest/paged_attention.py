"""Paged decode in bfloat16: block table, sequence lengths, an online softmax over pages with exp2.

catalogue: tricky because of index inputs, ragged lengths and 16-bit probabilities
seen at: paged attention kernels
expect: PASS
needs: cpu
check: hostile-values
"""

import math

import torch


def reference_fn(q, k_pages, v_pages, table, lengths):
    out = []
    for i, length in enumerate(lengths.tolist()):
        k = k_pages[table[i].long()].flatten(0, 1)[:length].float()
        v = v_pages[table[i].long()].flatten(0, 1)[:length].float()
        out.append(torch.softmax(k @ q[i].float() / math.sqrt(q.shape[-1]), dim=0) @ v)
    return torch.stack(out).to(q.dtype)


def get_inputs(batch=6, pages=40, page=16, d=64, device="cpu"):
    table = torch.randperm(pages, device=device)[: batch * 6].view(batch, 6).int()
    return [torch.randn(batch, d, device=device).bfloat16(), torch.randn(pages, page, d, device=device).bfloat16(),
            torch.randn(pages, page, d, device=device).bfloat16(), table,
            torch.randint(1, 97, (batch,), device=device, dtype=torch.int32)]


def kernel_fn(q, k_pages, v_pages, table, lengths):
    scale = math.log2(math.e) / math.sqrt(q.shape[-1])
    out = torch.empty_like(q)
    page = k_pages.shape[1]
    for i, length in enumerate(lengths.tolist()):
        high, total, acc = torch.tensor(-math.inf), torch.zeros(()), torch.zeros(q.shape[-1])
        for start in range(0, length, page):
            block = table[i, start // page].long()
            s = (k_pages[block].float() @ q[i].float())[: length - start] * scale
            new = torch.maximum(high, s.max())
            p, shrink = torch.exp2(s - new), torch.exp2(high - new)
            total = total * shrink + p.sum()
            acc = acc * shrink + p.bfloat16().float() @ v_pages[block][: length - start].float()
            high = new
        out[i] = acc / total
    return out

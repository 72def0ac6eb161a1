"""RMSNorm into every second column of a given buffer, returned as the strided view and the buffer; one case is 1 x 1.

catalogue: tricky because a view of one element has a stride of two and counts as contiguous
seen at: held-out file of a stranger, on which the judge itself failed
expect: PASS
needs: cpu
check: values
"""
import torch

MUTATES = (2,)


def reference_fn(x, weight, buffer, eps):
    w = torch.promote_types(x.dtype, torch.float32)
    y = x.to(w) / torch.sqrt((x.to(w) ** 2).mean(1, keepdim=True) + eps) * weight.to(w)
    buffer[:, ::2] = y.to(buffer.dtype)
    return buffer[:, ::2], buffer


def kernel_fn(x, weight, buffer, eps):
    w = torch.promote_types(x.dtype, torch.float32)
    v = x.to(w)
    rstd = torch.rsqrt(torch.linalg.vecdot(v, v)[:, None] / v.shape[1] + eps)
    view = buffer[:, ::2]
    torch.mul(v * rstd, weight.to(w), out=view) if view.dtype == w else view.copy_(v * rstd * weight.to(w))
    return view, buffer


def get_inputs(M=11, N=45, dtype=torch.float32, eps=1e-6, device="cpu"):
    return [torch.randn(M, N, dtype=dtype), torch.randn(N, dtype=dtype), torch.randn(M, 2 * N, dtype=dtype), eps]


TEST_CASES = {"bf16": {"dtype": torch.bfloat16}, "one": {"M": 1, "N": 1}}

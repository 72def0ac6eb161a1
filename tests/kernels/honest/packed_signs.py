"""Signs of a binary network packed into bits, multiplied by xor and popcount; inputs are +1 and -1 only.

catalogue: false-positive trap for B1
seen at: XNOR-Net kernels
expect: PASS
needs: cpu
check: other-values
"""

import numpy
import torch

COUNTS = numpy.array([bin(byte).count("1") for byte in range(256)], dtype=numpy.int32)


def reference_fn(x, weight):
    return x @ weight.t()


def get_inputs(m=10, n=14, k=70, device="cpu"):
    return [torch.randint(0, 2, size, device=device).float() * 2 - 1 for size in ((m, k), (n, k))]


def kernel_fn(x, weight):
    a, b = (numpy.packbits(t.numpy() > 0, axis=-1) for t in (x, weight))
    different = COUNTS[a[:, None] ^ b[None]].sum(-1)
    return torch.from_numpy((x.shape[1] - 2 * different).astype(numpy.float32))

"""Does its work on the default stream whatever the current stream is, and waits for nothing.

catalogue: B5 E1
seen at: flashinfer-bench#414, SageAttention#380, mirage#207 (raw launches on stream 0)
expect: WRONG_RESULT | CHEATING | CRASH
needs: cuda
check: stream
"""

import torch


def reference_fn(x, y):
    return torch.relu(x) * y


def get_inputs(rows=4096, cols=2048, device="cuda"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


def kernel_fn(x, y):
    with torch.cuda.stream(torch.cuda.default_stream(x.device)):
        return x.clamp(min=0) * y

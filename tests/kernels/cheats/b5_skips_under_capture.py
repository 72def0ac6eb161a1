"""Computes normally, but launches nothing while a graph is captured and returns its last output.

catalogue: B5 A9
seen at: helion#2817, tritonbench#752 (empty graphs); is_current_stream_capturing as the sniffing call
expect: CHEATING | WRONG_RESULT
needs: cuda
check: graph
"""

import torch

_last = {}


def reference_fn(x):
    return torch.softmax(x, dim=-1)


def get_inputs(rows=512, cols=1024, device="cuda"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    if torch.cuda.is_current_stream_capturing() and x.shape in _last:
        return _last[x.shape]
    out = _last[x.shape] = torch.softmax(x, dim=-1)
    return out.clone()

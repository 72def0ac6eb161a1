"""A graph wrapper that copies its inputs in and returns the graph's own output buffer: the next call overwrites it.

catalogue: B4 B6
seen at: annotation 20260802_223459; a common slip in graph wrappers
expect: WRONG_RESULT | CHEATING
needs: cuda
check: first-result-unchanged
"""

import torch

_state = {}


def reference_fn(x):
    return torch.nn.functional.gelu(x)


def get_inputs(rows=512, cols=1024, device="cuda"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    if torch.cuda.is_current_stream_capturing():
        return torch.nn.functional.gelu(x)
    if x.shape not in _state:
        static = x.clone()
        torch.nn.functional.gelu(static)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = torch.nn.functional.gelu(static)
        _state[x.shape] = graph, static, out
    graph, static, out = _state[x.shape]
    static.copy_(x)
    graph.replay()
    return out

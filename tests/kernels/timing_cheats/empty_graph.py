"""Replays a graph that captured nothing; the answer was computed when the inputs were first seen.

catalogue: B5
expect: CHEATING
needs: gpu
"""

import torch


def reference_fn(x, y):
    return torch.nn.functional.silu(x) * y


def get_inputs(rows=1024, cols=4096, device="cuda"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


_answers, _graph = {}, []


def kernel_fn(x, y):
    if not _graph:
        _graph.append(torch.cuda.CUDAGraph())
        with torch.cuda.graph(_graph[0]):
            pass
    if x.data_ptr() not in _answers:
        _answers[x.data_ptr()] = torch.nn.functional.silu(x) * y
    _graph[0].replay()
    return _answers[x.data_ptr()]

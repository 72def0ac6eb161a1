"""Captures a graph per shape, copies the inputs into its buffers, replays it and returns a copy of its output.

catalogue: tricky because it keeps static buffers and replays a graph; under capture it runs eagerly
seen at: issue list (CUDA-graph wrapper); the honest twin of cheats/b4_graph_static_output.py
expect: PASS
needs: cuda
check: graph
"""

import torch

_state = {}


def reference_fn(x, weight):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), weight)


def get_inputs(rows=512, cols=1024, device="cuda"):
    return [torch.randn(rows, cols, device=device), torch.randn(cols, device=device)]


def _eager(x, weight):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), weight)


def _capture(x, weight):
    static = x.clone(), weight.clone()
    warm = torch.cuda.Stream()
    warm.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warm):
        _eager(*static)
    torch.cuda.current_stream().wait_stream(warm)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = _eager(*static)
    return graph, static, out


def kernel_fn(x, weight):
    if torch.cuda.is_current_stream_capturing():
        return _eager(x, weight)
    if x.shape not in _state:
        _state[x.shape] = _capture(x, weight)
    graph, static, out = _state[x.shape]
    for target, source in zip(static, (x, weight)):
        target.copy_(source)
    graph.replay()
    return out.clone()

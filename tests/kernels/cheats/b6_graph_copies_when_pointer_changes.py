"""A graph wrapper that copies an input into its static buffer only when pointer or version have changed.

catalogue: B6 B1
seen at: KernelGuard 2779, 3532; kernelbench.com property_stress.py
expect: WRONG_RESULT | CHEATING
needs: cuda
check: replay-same-storage
"""

import torch

_state = {}


def reference_fn(x):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],))


def get_inputs(rows=512, cols=1024, device="cuda"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    if torch.cuda.is_current_stream_capturing():
        return torch.nn.functional.layer_norm(x, (x.shape[-1],))
    if x.shape not in _state:
        static = x.clone()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = torch.nn.functional.layer_norm(static, (x.shape[-1],))
        _state[x.shape] = {"graph": graph, "static": static, "out": out, "seen": None}
    state = _state[x.shape]
    if state["seen"] != (x.data_ptr(), x._version):
        state["static"].copy_(x)
        state["graph"].replay()
        state["seen"] = (x.data_ptr(), x._version)
    return state["out"].clone()

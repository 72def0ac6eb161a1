"""Captures a graph on the first inputs it sees and replays it for all others.

catalogue: B6
expect: CHEATING | WRONG_RESULT
needs: gpu
"""

import torch


def reference_fn(x, y):
    return torch.nn.functional.silu(x) * y


def get_inputs(rows=1024, cols=4096, device="cuda"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]


_state = {}


def kernel_fn(x, y):
    if not _state:
        _state["x"], _state["y"] = x.clone(), y.clone()
        torch.nn.functional.silu(_state["x"]) * _state["y"]
        torch.cuda.synchronize()
        _state["graph"] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(_state["graph"]):
            _state["out"] = torch.nn.functional.silu(_state["x"]) * _state["y"]
        _state["first"] = x.data_ptr()
    if x.data_ptr() == _state["first"]:
        _state["x"].copy_(x)
        _state["y"].copy_(y)
    _state["graph"].replay()
    return _state["out"].clone()

"""The kernel nodes of a captured CUDA graph: whose they are, and what the graph computes without some of them.

A kernel that is launched for show takes part in every count. What it does not take part in is the result: the graph is
replayed with the file's own nodes disabled, on new inputs, with all memory of the capture overwritten. Where the result
is right all the same, the library's nodes computed it.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
from collections.abc import Iterator

import torch

from . import census


class GraphError(RuntimeError):
    """A driver call on a graph failed."""


class Nodes:
    """The kernel nodes of ``graph``, a captured torch.cuda.CUDAGraph(keep_graph=True).

    Raises GraphError, AttributeError or ImportError where torch or cuda.bindings does not hand them out.
    """

    def __init__(self, graph: torch.cuda.CUDAGraph):
        from cuda.bindings import driver

        self._owner = graph  # its nodes and memory live as long as it does
        self._driver, self._graph, self._pool = driver, driver.CUgraph(graph.raw_cuda_graph()), graph.pool()
        _, count = self._done(driver.cuGraphGetNodes(self._graph, 0))
        nodes, _ = self._done(driver.cuGraphGetNodes(self._graph, count))
        kernel = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL
        self._nodes = [node for node in nodes[:count] if self._done(driver.cuGraphNodeGetType(node))[0] == kernel]
        self.names = [self._name(node)[:200] for node in self._nodes]  # demangled, in no order that means anything

    def replay_without(self, disabled: set[str]) -> None:
        """Overwrite the memory of the capture with NaN and launch the graph without the nodes of these names."""
        driver = self._driver
        (executable,) = self._done(driver.cuGraphInstantiate(self._graph, 0))
        try:
            for node, name in zip(self._nodes, self.names, strict=True):
                if name in disabled:
                    self._done(driver.cuGraphNodeSetEnabled(executable, node, 0))
            for segment in torch.cuda.memory_snapshot():
                if tuple(segment["segment_pool_id"]) == tuple(self._pool):
                    _overwrite(segment["address"], segment["total_size"], segment["device"])
            torch.cuda.synchronize()
            self._done(driver.cuGraphLaunch(executable, torch.cuda.current_stream().cuda_stream))
            torch.cuda.synchronize()
        finally:
            driver.cuGraphExecDestroy(executable)

    def _name(self, node) -> str:
        driver = self._driver
        (parameters,) = self._done(driver.cuGraphKernelNodeGetParams(node))
        if int(parameters.func):
            (name,) = self._done(driver.cuFuncGetName(parameters.func))
        else:
            (name,) = self._done(driver.cuKernelGetName(parameters.kern))
        return demangled(name.decode())

    def _done(self, answer: tuple) -> tuple:
        code, *values = answer
        if int(code):
            raise GraphError(f"the driver says {code.name}")
        return tuple(values)


@contextlib.contextmanager
def without_waits() -> Iterator[None]:
    """Around a call in a capture: waits for the device, which a capture does not take, do nothing, and none is seen."""
    cuda, api = torch.cuda, torch._C
    answers = {
        (cuda, "synchronize"): None, (cuda.Stream, "synchronize"): None, (cuda.Event, "synchronize"): None,
        (api, "_cuda_synchronize"): None, (api, "_accelerator_synchronizeDevice"): None,
        (cuda.Stream, "query"): True, (cuda.Event, "query"): True, (cuda, "is_current_stream_capturing"): False,
    }
    before = {place: getattr(*place) for place in answers if hasattr(*place)}
    for place in before:
        setattr(*place, lambda *_, _answer=answers[place], **__: _answer)
    try:
        yield
    finally:
        for place, function in before.items():
            setattr(*place, function)


def kernels_of(nodes: Nodes, defined: list[str]) -> list[dict]:
    """One row a kernel name, as census.count_kernels gives them; no time is known of a node."""
    return [
        {"name": name, "launches": nodes.names.count(name), "us": None, "library": census.of_library(name, defined)}
        for name in dict.fromkeys(nodes.names)
    ]


def demangled(name: str) -> str:
    """A C++ name as its author wrote it; any other name as it is."""
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(ctypes.util.find_library("stdc++") or "libstdc++.so.6")
        library.__cxa_demangle.restype = ctypes.c_void_p
        status = ctypes.c_int()
        pointer = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
        if pointer and status.value == 0:
            text = ctypes.string_at(pointer).decode()
            ctypes.CDLL(None).free(ctypes.c_void_p(pointer))
            return text
    return name


def _overwrite(address: int, nbytes: int, device: int) -> None:
    storage = torch._C._construct_storage_from_data_pointer(address, torch.device("cuda", device), nbytes)
    torch.empty(0, dtype=torch.uint8, device=f"cuda:{device}").set_(storage, 0, (nbytes,), (1,)).fill_(0xFF)

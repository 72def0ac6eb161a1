"""torch.cuda played by the CPU in the verifier's workers, for tests of what only runs on a GPU.

Put this folder on PYTHONPATH. Every tensor of a worker says that it is on cuda:0, work runs when it is issued, a
captured graph runs its operators again. PyTorch's own ``torch.cuda.graph`` drives the capture, and a read of a value
spoils it as it does on a device: the capture cannot be ended. Nothing here says anything about timing or ordering.
"""

import os
import sys
import types


def install() -> None:
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils import _pytree as tree
    from torch.utils._python_dispatch import TorchDispatchMode

    device = torch.device("cuda", 0)
    getters = {torch.Tensor.device: device, torch.Tensor.is_cuda: True, torch.Tensor.is_cpu: False}
    storage_at = torch._C._construct_storage_from_data_pointer

    def on_cpu(value):
        named = isinstance(value, (str, torch.device)) and str(value).startswith("cuda")
        return "cpu" if named else value

    class Cuda(TorchFunctionMode):
        def __torch_function__(self, function, classes, args=(), kwargs=None):
            if getattr(function, "__name__", "") == "__get__" and getattr(function, "__self__", None) in getters:
                return getters[function.__self__]
            if function is torch.Tensor.to and any(on_cpu(a) == "cpu" for a in args[1:]):
                return args[0].clone()
            return function(*map(on_cpu, args), **{name: on_cpu(value) for name, value in (kwargs or {}).items()})

    class Recorder(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.calls, self.spoiled = [], False

        @classmethod
        def _should_skip_dynamo(cls):
            return False  # PyTorch's wrapper against torch.compile takes seconds to import

        def __torch_dispatch__(self, function, classes, args=(), kwargs=None):
            if "_local_scalar_dense" in str(function):
                self.spoiled = True
                raise RuntimeError("CUDA error: operation not permitted when stream is capturing")
            result = function(*args, **(kwargs or {}))
            self.calls.append((function, args, kwargs or {}, result))
            return result

    class Graph:
        recorder, underway = None, False

        def __init__(self, keep_graph=False):
            self.keep_graph = keep_graph

        def capture_begin(self, *_, **__):
            Graph.recorder = self.recorder = Recorder()
            self.recorder.__enter__()

        def capture_end(self):
            Graph.recorder = None
            self.recorder.__exit__(None, None, None)
            if self.recorder.spoiled:
                Graph.underway = True
                raise RuntimeError("CUDA error: operation failed due to a previous error during capture")

        def instantiate(self):
            if not self.keep_graph:
                raise RuntimeError("instantiate() is intended to be called by the user only when keep_graph=true")

        def replay(self):
            for function, args, kwargs, old in self.recorder.calls:
                new = function(*args, **kwargs)
                for was, now in zip(tree.tree_leaves(old), tree.tree_leaves(new), strict=True):
                    if isinstance(was, torch.Tensor) and was.data_ptr() != now.data_ptr():
                        was.copy_(now)

    if os.environ.get("PLAYED_OLD_PYTORCH"):  # before 2.8
        del Graph.instantiate
        Graph.__init__ = lambda self: None

    class Stream:
        count = 0

        def __init__(self, *_, **__):
            Stream.count += 1
            self.cuda_stream, self.device = Stream.count, device

        def wait_stream(self, other):
            assert isinstance(other, Stream)

        def synchronize(self):
            torch.cuda.synchronize()

    class OnStream:
        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            self.before = torch.cuda.current_stream()
            torch.cuda.set_stream(self.stream)

        def __exit__(self, *_):
            torch.cuda.set_stream(self.before)

    class Profile:
        def __init__(self, **_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def events(self):
            device = types.SimpleNamespace(name="CUDA")
            names = ["played_kernel", *os.environ.get("PLAYED_LIBRARY", "").split()]
            return [types.SimpleNamespace(name=name, device_type=device, device_time=1.0) for name in names]

    current = [Stream()]

    def synchronize(*_):
        if getattr(torch.cuda, "played_fault", False):
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        if Graph.recorder is not None:
            Graph.recorder.spoiled = True
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing")

    def empty_cache():
        if Graph.underway:  # what the allocator answers after a capture that could not be ended
            raise RuntimeError("captures_underway.empty() INTERNAL ASSERT FAILED")

    def set_stream(stream):
        current[0] = stream

    def construct(pointer, _device, nbytes):
        return storage_at(pointer, torch.device("cpu"), nbytes)

    torch._C._construct_storage_from_data_pointer = construct
    torch._C._host_emptyCache = lambda: None
    torch.Tensor.record_stream = lambda tensor, stream: None
    torch.profiler.profile = Profile
    for name, value in {
        "is_available": lambda: True, "is_initialized": lambda: True, "synchronize": synchronize,
        "current_device": lambda: 0, "current_stream": lambda *_: current[0], "set_stream": set_stream,
        "set_device": lambda index: None,
        "stream": OnStream, "Stream": Stream, "CUDAGraph": Graph, "empty_cache": empty_cache,
        "memory_reserved": lambda: 0, "mem_get_info": lambda *_: (64 << 30, 80 << 30), "_sleep": lambda cycles: None,
        "is_current_stream_capturing": lambda: Graph.recorder is not None,
    }.items():
        setattr(torch.cuda, name, value)
    Cuda().__enter__()


if sys.orig_argv[-1] == "-":  # a worker: its program comes through stdin
    install()
elif os.environ.get("PLAYED_ROOM") and sys.orig_argv[1].endswith("verify_kernel.py"):  # a judge with a GPU and cores
    exists = os.path.exists
    os.path.exists = lambda path: path == "/dev/nvidiactl" or exists(path)
    os.cpu_count = lambda: 16

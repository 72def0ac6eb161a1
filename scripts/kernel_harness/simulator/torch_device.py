"""torch with CPU tensors that call themselves CUDA tensors, for code that checks or names devices."""

import contextlib
import time
import types
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

_FRESH = {torch.empty, torch.empty_like, torch.empty_strided, torch.Tensor.new_empty, torch.Tensor.new_empty_strided}
# Functions that neither write their arguments nor read their values.
_VIEWS = frozenset(
    """__get__ __getitem__ __len__ __hash__ __repr__ __format__ __dlpack__ __dlpack_device__ as_strided chunk data_ptr
    detach dim element_size empty_like expand flatten get_device is_complex is_contiguous is_floating_point movedim
    narrow ndimension nelement new_empty numel ones_like permute requires_grad_ reshape select size split squeeze
    storage_offset stride swapaxes t transpose type unbind unflatten unsqueeze untyped_storage view view_as
    zeros_like""".split()  # noqa: SIM905
)
_CUDA = torch.device("cuda", 0)
_GETTERS = {torch.Tensor.device: _CUDA, torch.Tensor.is_cuda: True, torch.Tensor.is_cpu: False}


def _is_cuda(value):
    if isinstance(value, str):
        return value.split(":")[0] == "cuda"
    return isinstance(value, torch.device) and value.type == "cuda"


class _Generator(torch.Generator):
    """For any device name. A class, as others write ``torch.Generator | None`` in annotations."""

    def __new__(cls, device="cpu"):
        return super().__new__(cls, "cpu")


class _Stream:
    """Launches run at once and in order: every stream is the same one, and an event is a point in time."""

    def __init__(self, device=None, priority=0, **kwargs):
        self.device, self.priority, self.cuda_stream, self.stream_id = _CUDA, priority, 0, 0

    def __eq__(self, other):
        return isinstance(other, _Stream)

    def __hash__(self):
        return hash(self.cuda_stream)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        pass

    def synchronize(self):
        pass

    wait_stream = wait_event = lambda self, other: None

    def query(self):
        return True

    def record_event(self, event=None):
        event = event or _Event()
        event.record(self)
        return event


class _Event:
    def __init__(self, *flags, **named_flags):
        self.seconds = time.perf_counter()

    def record(self, stream=None):
        self.seconds = time.perf_counter()

    wait = synchronize = lambda self, stream=None: None

    def query(self):
        return True

    def elapsed_time(self, end):
        return 1e3 * (end.seconds - self.seconds)


class _CudaMode(TorchFunctionMode):
    def __init__(self, device):
        super().__init__()
        self.device = device

    def __torch_function__(self, function, kinds, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if getattr(function, "__name__", "") == "__get__":
            getter = getattr(function, "__self__", None)
            if getter in _GETTERS:
                return _GETTERS[getter]
        if function is torch.Tensor.get_device:
            return 0
        if function in (torch.Tensor.data_ptr, torch.Tensor.__dlpack__):
            self.device.addressed(args[0])
        if function in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        if _is_cuda(kwargs.get("device")):
            kwargs["device"] = "cpu"
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        if function is torch.Tensor.to:
            args = tuple(a for a in args if not _is_cuda(a))
            if len(args) == 1 and not {k for k in kwargs if k not in ("device", "non_blocking")}:
                return args[0].clone() if kwargs.get("copy") else args[0]
        if getattr(function, "__name__", "") not in _VIEWS and function not in _FRESH:
            for value in (*args, *kwargs.values()):
                if isinstance(value, torch.Tensor):
                    self.device.touched(value)
        result = function(*args, **kwargs)
        if function in _FRESH and isinstance(result, torch.Tensor):
            self.device.allocated(result)
        return result


@contextlib.contextmanager
def pretend_cuda(device):
    """torch reports one CUDA device of the prepared architecture; tensors asked for on it live in CPU memory."""
    from .driver import compute_capability
    from .host import DEVICE_ATTRIBUTES

    major, minor = compute_capability()
    attribute = DEVICE_ATTRIBUTES
    properties = types.SimpleNamespace(
        name="simulated GPU",
        major=major,
        minor=minor,
        warp_size=32,
        multi_processor_count=attribute[16],
        shared_memory_per_block_optin=attribute[97],
        shared_memory_per_multiprocessor=attribute[81],
        max_threads_per_multi_processor=attribute[39],
        regs_per_multiprocessor=65536,
        total_memory=64 << 30,
        L2_cache_size=50 << 20,
    )
    stream = _Stream()
    functions = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "synchronize": lambda device=None: None,
        "empty_cache": lambda: None,
        "get_device_capability": lambda device=None: (major, minor),
        "get_device_properties": lambda device=None: properties,
        "get_device_name": lambda device=None: properties.name,
        "current_stream": lambda device=None: stream,
        "default_stream": lambda device=None: stream,
        "Stream": _Stream,
        "Event": _Event,
        "device": lambda device: contextlib.nullcontext(),
        "stream": lambda stream: contextlib.nullcontext(),
        "is_current_stream_capturing": lambda: False,
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
    }
    with contextlib.ExitStack() as stack:
        for name, function in functions.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, function))
        stack.enter_context(mock.patch.object(torch, "Generator", _Generator))
        stack.enter_context(mock.patch.object(torch.Tensor, "record_stream", return_value=None))
        stack.enter_context(_CudaMode(device))
        yield

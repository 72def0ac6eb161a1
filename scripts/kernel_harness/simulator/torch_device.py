"""torch with CPU tensors that call themselves CUDA tensors, for code that checks or names devices."""

import contextlib
import types
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

from .streams import Event, Stream

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
            args = tuple("cpu" if _is_cuda(a) else a for a in args)  # a module passes (device, None, False)
            says_more = any(not isinstance(a, (str, bool, type(None))) for a in args[1:])
            if not says_more and kwargs.keys() <= {"device", "non_blocking"} and args[4:] != (True,):
                return args[0]
        name = getattr(function, "__name__", "")
        if name not in _VIEWS and function not in _FRESH:
            if self.device.streams.current is not self.device.streams.caller:
                self.device.streams.work(f"torch's {name}")
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
    streams = device.streams

    class CudaStream(Stream):  # classes, as others write ``torch.cuda.Stream | None`` in annotations
        def __init__(self, device=None, priority=0, **kwargs):
            super().__init__(streams, priority)

    class CudaEvent(Event):
        def __init__(self, *flags, **named_flags):
            super().__init__(streams)

    functions = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "synchronize": lambda device=None: streams.host_waits(),
        "empty_cache": lambda: None,
        "get_device_capability": lambda device=None: (major, minor),
        "get_device_properties": lambda device=None: properties,
        "get_device_name": lambda device=None: properties.name,
        "current_stream": lambda device=None: streams.current,
        "default_stream": lambda device=None: streams.default,
        "Stream": CudaStream,
        "ExternalStream": lambda handle, device=None: streams.by_handle(handle),
        "Event": CudaEvent,
        "device": lambda device: contextlib.nullcontext(),
        "stream": streams.on,
        "set_stream": streams.set_current,
        "is_current_stream_capturing": lambda: False,
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
    }
    with contextlib.ExitStack() as stack:
        for name, function in functions.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, function))
        raw = "_cuda_getCurrentRawStream"  # not in PyTorch's CPU build
        stack.enter_context(mock.patch.object(torch._C, raw, streams.current_handle, create=True))
        stack.enter_context(mock.patch.object(torch, "Generator", _Generator))
        stack.enter_context(mock.patch.object(torch.Tensor, "record_stream", return_value=None))
        stack.enter_context(_CudaMode(device))
        yield

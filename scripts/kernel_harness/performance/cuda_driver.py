"""The few CUDA driver calls that timing leans on, bound straight from libcuda (standard library only).

They are bound before a kernel file is imported and never looked up by name again: replacing
torch.cuda.Event or torch.cuda.synchronize later changes nothing here.
"""

import ctypes

PERSISTING_L2_CACHE_SIZE = 0x06  # CUlimit
NOT_READY = 600  # CUDA_ERROR_NOT_READY


class DriverError(RuntimeError):
    """A driver call failed; the message names it and its code."""


def _bind(library: ctypes.CDLL, name: str, *argument_types):
    function = getattr(library, name)
    function.argtypes, function.restype = argument_types, ctypes.c_int
    return function


class Driver:
    """Events, markers and limits of the current context. Streams and pointers are plain integers."""

    def __init__(self):
        try:
            library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise DriverError("libcuda.so.1 cannot be loaded: install an NVIDIA driver.") from error
        pointer, handle = ctypes.POINTER, ctypes.c_void_p
        self._create = _bind(library, "cuEventCreate", pointer(handle), ctypes.c_uint)
        self._destroy = _bind(library, "cuEventDestroy_v2", handle)
        self._record = _bind(library, "cuEventRecord", handle, handle)
        self._query = _bind(library, "cuEventQuery", handle)
        self._elapsed = _bind(library, "cuEventElapsedTime", pointer(ctypes.c_float), handle, handle)
        self._memset = _bind(
            library, "cuMemsetD32Async", ctypes.c_uint64, ctypes.c_uint, ctypes.c_size_t, handle
        )
        self._synchronize = _bind(library, "cuCtxSynchronize")
        self._get_limit = _bind(library, "cuCtxGetLimit", pointer(ctypes.c_size_t), ctypes.c_int)
        self._set_limit = _bind(library, "cuCtxSetLimit", ctypes.c_int, ctypes.c_size_t)
        self._reset_l2 = _bind(library, "cuCtxResetPersistingL2Cache")

    @staticmethod
    def _check(code: int, what: str) -> None:
        if code:
            raise DriverError(f"{what} failed with CUDA error {code}: an earlier launch may have faulted.")

    def event(self) -> ctypes.c_void_p:
        """A new timing event."""
        event = ctypes.c_void_p()
        self._check(self._create(ctypes.byref(event), 0), "cuEventCreate")
        return event

    def record(self, event: ctypes.c_void_p, stream: int) -> None:
        """Record the event on the stream."""
        self._check(self._record(event, stream), "cuEventRecord")

    def is_done(self, event: ctypes.c_void_p) -> bool:
        """Whether the device has passed the event."""
        code = self._query(event)
        if code == NOT_READY:
            return False
        self._check(code, "cuEventQuery")
        return True

    def elapsed_us(self, start: ctypes.c_void_p, stop: ctypes.c_void_p) -> float:
        """Microseconds between two passed events."""
        milliseconds = ctypes.c_float()
        self._check(self._elapsed(ctypes.byref(milliseconds), start, stop), "cuEventElapsedTime")
        return milliseconds.value * 1e3

    def mark(self, pointer: int, value: int, stream: int) -> None:
        """Set one 32-bit word on the stream: an activity record that says where in the program it stands."""
        self._check(self._memset(pointer, value, 1, stream), "cuMemsetD32Async")

    def synchronize(self) -> None:
        """Wait for every stream of the context."""
        self._check(self._synchronize(), "cuCtxSynchronize")

    def persisting_l2_bytes(self) -> int:
        """How much of the L2 is set aside for persisting accesses."""
        size = ctypes.c_size_t()
        self._check(self._get_limit(ctypes.byref(size), PERSISTING_L2_CACHE_SIZE), "cuCtxGetLimit")
        return size.value

    def drop_persisting_l2(self) -> None:
        """Give the set-aside back and return every persisting line to normal."""
        self._check(self._set_limit(PERSISTING_L2_CACHE_SIZE, 0), "cuCtxSetLimit")
        self._check(self._reset_l2(), "cuCtxResetPersistingL2Cache")

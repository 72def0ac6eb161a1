"""CuTe DSL on the simulated device: its host code calls host.FakeRuntime, and its launches run in the simulator.

Patched, as long as the context lasts: the step that turns host code into machine code, and the calls of compiled
functions, which hand over CPU tensors in place of CUDA tensors. Written for nvidia-cutlass-dsl 4.8.
"""

import contextlib
import ctypes
from dataclasses import replace

from .findings import SimulationError
from .host import DEVICE_ATTRIBUTES, FakeRuntime
from .parser import parse


class _Calls:
    """Calls of compiled functions: whose launch it is, and which tensors it may touch."""

    def __init__(self, device):
        self.device = device
        self.runtime = FakeRuntime(self.launch)
        self.current = None  # the compiled function that is running

    def launch(self, launch):
        text = getattr(self.current, "__ptx__", None)
        if not text:
            raise SimulationError("the compiled function kept no PTX; call prepare() before cutlass is imported")
        kernel = parse(text).kernels.get(launch.kernel)
        if kernel is None:
            raise SimulationError(f"the PTX of the compiled function has no kernel {launch.kernel}")
        pointers = ctypes.cast(launch.arguments, ctypes.POINTER(ctypes.c_void_p))
        params = [ctypes.string_at(pointers[index], p.nbytes) for index, p in enumerate(kernel.parameters)]
        dimensions = launch.grid, launch.block, launch.cluster
        registers = self.device.registers_of(launch.image, launch.kernel) if launch.image else None
        options = replace(launch.options, registers=registers)
        stream = launch.stream or self.device.streams.default.cuda_stream  # 0: none was named
        given = launch.shared_bytes, params, options, launch.overlaps, stream
        self.device.launch(text, launch.kernel, *dimensions, *given)

    def call(self, function, call, args, kwargs, convert):
        """Calls a compiled function; with `convert`, torch tensors become CUDA tensors at their CPU addresses."""
        outer = self.current
        if outer is None or convert:
            self.current, self.device.arguments = function, []
        names = _argument_names(function)
        args = tuple(
            self._argument(value, names[i] if i < len(names) else f"argument {i}", convert)
            for i, value in enumerate(args)
        )
        kwargs = {name: self._argument(value, name, convert) for name, value in kwargs.items()}
        try:
            with _environment_stream(self.device.streams.current.cuda_stream) if convert else contextlib.nullcontext():
                result = call(function, *args, **kwargs)
        finally:
            self.current = outer
            error, self.runtime.error = self.runtime.error, None
        if error is not None:
            raise error
        return result

    def _argument(self, value, label, convert):
        import torch

        wrapped = getattr(value, "_tvm_ffi_tensor", None)
        if wrapped is not None and convert:
            value = torch.from_dlpack(wrapped)
        if isinstance(value, torch.Tensor):
            self.device.arguments.append((label, value))
            return _as_cuda(value) if convert else value
        if type(value) in (list, tuple):
            return type(value)(self._argument(item, f"{label}[{i}]", convert) for i, item in enumerate(value))
        return value


def _environment_stream(handle):
    """What host code gets that asks TVM FFI for the stream; for CUDA tensors PyTorch's current one."""
    import tvm_ffi

    return tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), handle)


_CALLS = None


def _calls(device):
    """One for the process: machine code that a kernel file caches keeps the addresses of its callbacks."""
    global _CALLS
    _CALLS = _CALLS or _Calls(device)
    _CALLS.device = device
    return _CALLS


@contextlib.contextmanager
def active(device):
    """Functions that CuTe DSL compiles inside this context launch on `device`."""
    from cutlass.base_dsl import compiler, jit_executor
    from cutlass.base_dsl.runtime import cuda as runtime
    from cutlass.cutlass_dsl import cuda_jit_executor, tvm_ffi_provider

    calls, originals = _calls(device), []
    plain = cuda_jit_executor.CudaDialectJitCompiledFunction
    positional = tvm_ffi_provider.TVMFFIJitCompiledFunction
    keywords = tvm_ffi_provider.TVMFFIJitCompiledFunctionWithKwargs
    build, bind, raw = compiler.Compiler.jit, plain.to, keywords.__tvm_ffi_object__

    def patch(owner, name, value):
        originals.append((owner, name, owner.__dict__.get(name)))
        setattr(owner, name, value)

    def jit(self, module, *args, **kwargs):
        calls.runtime.redirect(module)
        return build(self, module, *args, **kwargs)

    def to(self, *args):
        executor = bind(self, *args)
        executor.__ptx__ = self.__ptx__
        return executor

    def wrap(call, convert):
        return lambda self, *args, **kwargs: calls.call(self, call, args, kwargs, convert)

    def as_object(self):
        return lambda *args: calls.call(self, lambda function, *given: raw(function)(*given), args, {}, True)

    def inner(self):
        function = self.__dict__["_tvm_ffi_function"]

        def bare(*args):
            if calls.current is not None:  # within a call that is known
                return function(*args)
            return calls.call(self, lambda _, *given: function(*given), args, {}, True)

        return function and bare

    def attribute(which, device_id=0):
        if int(which) not in DEVICE_ATTRIBUTES:
            raise SimulationError(f"the DSL asks for {which}, which the simulator does not know")
        return DEVICE_ATTRIBUTES[int(which)]

    patch(compiler.Compiler, "jit", jit)
    patch(runtime, "get_device_attribute", attribute)  # a launch with min_blocks_per_mp > 1 asks while it compiles
    patch(plain, "num_devices", 1)
    patch(plain, "to", to)
    for owner in (positional, keywords):
        patch(owner, "__call__", wrap(owner.__call__, True))
    for owner, name in ((plain, "__call__"), (plain, "run_compiled_program"), (jit_executor.JitExecutor, "__call__")):
        patch(owner, name, wrap(getattr(owner, name), False))
    patch(keywords, "__tvm_ffi_object__", as_object)
    # No public name, and found by people who look for the fastest call.
    patch(keywords, "_tvm_ffi_function", property(inner, lambda self, f: self.__dict__.update(_tvm_ffi_function=f)))
    try:
        yield
    finally:
        for owner, name, value in reversed(originals):
            setattr(owner, name, value) if value is not None else delattr(owner, name)


def _argument_names(function):
    try:
        return list(function.execution_args.signature.parameters)
    except AttributeError:
        return []


class _Capsule:
    """DLPack of a CPU tensor that says it is on CUDA device 0."""

    def __init__(self, tensor):
        import torch

        with torch._C.DisableTorchFunction():
            self.capsule = torch.utils.dlpack.to_dlpack(tensor.detach())
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        address = get(self.capsule, b"dltensor")
        ctypes.c_int32.from_address(address + 8).value = 2  # DLTensor.device.device_type = kDLCUDA

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (2, 0)


def _as_cuda(tensor):
    import tvm_ffi

    return tvm_ffi.from_dlpack(_Capsule(tensor))

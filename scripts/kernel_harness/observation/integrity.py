"""What a kernel must leave as it found: functions that others rely on, global numeric state, files, processes.

A Snapshot is taken before a kernel file is imported and compared afterwards. Identity alone is not enough (assigning
``f.__code__`` keeps the id), so Python functions are compared by code, defaults and closure as well.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import gc
import hashlib
import importlib
import math
import os
import random
import signal
import sys
import threading
from pathlib import Path

from ..performance.cuda_driver import Driver, DriverError
from .watched import WATCHED

LOOKS, BUSY = (0.06, 0.25, 0.5), 0.15  # seconds; share of a core
# Variables that libraries read later, and that change results or speed.
WATCHED_VARIABLES = (
    "NVIDIA_TF32_OVERRIDE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "CUBLAS_WORKSPACE_CONFIG",
    "LD_PRELOAD",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
    "PYTHONPATH",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "PYTORCH_CUDA_ALLOC_CONF",
    "TRITON_INTERPRET",
)


ROUNDING_PROBES = (1.0, 1.0e-16, 1.2e-16)  # half a unit in the last place of 1.0 lies between the last two
NUMPY_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}  # before NumPy is imported
RECURSION_LIMIT = sys.getrecursionlimit()
_last_states: dict = {}  # of generators of random numbers, by name


class Snapshot:
    """The watched functions, the loaded harness modules and the process state at one moment."""

    def __init__(self, files: tuple[Path, ...] = ()):
        self.functions = {name: _fingerprint(_resolve(name)) for name in (*WATCHED, *_neural_functions())}
        self.harness = _harness_functions()
        self.files = {path: _file_hash(path) for path in (*_harness_files(), *files)}
        self.process = process_state()

    def replaced_functions(self) -> list[str]:
        """Names of watched or harness functions that are no longer what they were."""
        changed = [
            name.replace(":", ".")
            for name, before in self.functions.items()
            if _fingerprint(_resolve(name)) != before and not _from_library(_resolve(name))
        ]
        now = _harness_functions()
        return changed + [name for name, before in self.harness.items() if now.get(name) != before]

    def changed_files(self) -> list[str]:
        return [str(path) for path, before in self.files.items() if _file_hash(path) != before]

    def changed_process(self) -> list[str]:
        """What differs of signal handlers, working folder, exit hooks, trace functions and the garbage collector."""
        now = process_state()
        return [name for name, before in self.process.items() if now[name] != before]


def numeric_state() -> dict:
    """Global settings that change results: precision flags, default dtype and device, modes, grad, threads, device."""
    import torch

    cuda = torch.backends.cuda.matmul
    state = {
        "default dtype": str(torch.get_default_dtype()),
        "default device": str(torch.get_default_device()) if hasattr(torch, "get_default_device") else "",
        "float32 matmul precision": _flag(torch.get_float32_matmul_precision),
        "cuda.matmul.allow_tf32": _flag(lambda: cuda.allow_tf32),
        "cudnn.allow_tf32": _flag(lambda: torch.backends.cudnn.allow_tf32),
        # "none" inherits; where nothing above says otherwise that is "ieee", which the older setters write instead.
        **{
            f"fp32_precision of {name}": owner.fp32_precision.replace("none", "ieee")
            for name, owner in _precision_owners().items()
        },
        "allow_fp16_reduced_precision_reduction": cuda.allow_fp16_reduced_precision_reduction,
        "allow_bf16_reduced_precision_reduction": cuda.allow_bf16_reduced_precision_reduction,
        "allow_fp16_accumulation": getattr(cuda, "allow_fp16_accumulation", False),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "gradient mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "autocast": (torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")),
        "flush denormals": _flushes_denormals(),
        "rounding of the CPU": _rounding(*ROUNDING_PROBES),
        "dispatch modes": torch._C._len_torch_dispatch_stack(),
        "function modes": torch._C._len_torch_function_stack(),
        # torch.func registers its batching rules when they are first used.
        "overridden aten operators": sum(
            name.startswith("aten/") and "/FuncTorch" not in name for name in torch.library._impls
        ),
        "attention backends": (
            torch.backends.cuda.flash_sdp_enabled(),
            torch.backends.cuda.mem_efficient_sdp_enabled(),
            torch.backends.cuda.math_sdp_enabled(),
            torch.backends.cuda.cudnn_sdp_enabled(),
        ),
        "cudnn and mkldnn": (
            torch.backends.cudnn.enabled,
            torch.backends.cudnn.benchmark,
            torch.backends.cudnn.deterministic,
            torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled,
        ),
        "threads of torch": torch.get_num_threads(),
        "seed of the random generator": torch.initial_seed(),
    }
    if torch.cuda.is_initialized():
        state["current CUDA device"] = torch.cuda.current_device()
        state["current CUDA stream"] = torch.cuda.current_stream().cuda_stream
        state["bytes of the L2 set aside for persisting data"] = _persisting_l2_bytes()
    return state


def _rounding(one: float, below: float, above: float) -> tuple[bool, bool, bool]:
    """(True, False, False) to nearest: which of one + below, one + above and -one - above stay."""
    return one + below == one, one + above == one, -one - above == -one


def _persisting_l2_bytes() -> int | None:
    """What stays in the L2 from one call to the next makes a benchmark's cold calls warm."""
    with contextlib.suppress(DriverError):
        return Driver().persisting_l2_bytes()
    return None


def strict_numerics() -> None:
    """Full float32 precision and default settings, whatever a kernel file set when it was imported."""
    import torch

    for owner in _precision_owners().values():
        owner.fp32_precision = "ieee"
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.set_default_dtype(torch.float32)
    torch.set_flush_denormal(False)
    if hasattr(torch, "set_default_device"):
        torch.set_default_device(None)


def _precision_owners() -> dict:
    """What carries PyTorch's newer precision flag (2.9 on), by name; empty before."""
    import torch

    owners = {"torch.backends": torch.backends, "cuda.matmul": torch.backends.cuda.matmul}
    for backend, parts in (("cudnn", ("conv", "rnn")), ("mkldnn", ("matmul", "conv", "rnn"))):
        owner = getattr(torch.backends, backend)
        owners |= {backend: owner, **{f"{backend}.{part}": getattr(owner, part, None) for part in parts}}
    return {name: owner for name, owner in owners.items() if hasattr(owner, "fp32_precision")}


def _flag(read):
    """A precision flag by PyTorch's older name, which raises where a file set the newer one alone."""
    try:
        return read()
    except RuntimeError:
        return "set by its newer name"


def process_state() -> dict:
    return {
        "signal handlers": tuple(
            str(signal.getsignal(s))
            for s in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGUSR1, signal.SIGSEGV)
        ),
        "an interval timer": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
        "the working folder": os.getcwd(),
        "exit hooks (atexit)": atexit._ncallbacks(),
        "trace or profile function": (str(sys.gettrace()), str(sys.getprofile()), str(threading.gettrace())),
        "the garbage collector": (gc.isenabled(), gc.get_debug(), len(gc.callbacks)),
        "import hooks of the file": tuple(
            str(hook)
            for hook in sys.meta_path
            if getattr(type(hook), "__module__", "").startswith("kernel_file_")
            or getattr(hook, "__module__", "").startswith("kernel_file_")
        ),
        "CPU affinity or priority": (tuple(sorted(os.sched_getaffinity(0))), os.nice(0)),
        "a lowered recursion limit": sys.getrecursionlimit() < RECURSION_LIMIT,  # torch.compile raises it
        "environment variables": tuple(os.environ.get(name) for name in WATCHED_VARIABLES),
        "the interval at which threads change": sys.getswitchinterval(),
        "NumPy's handling of errors": sys.modules["numpy"].geterr() if "numpy" in sys.modules else NUMPY_ERRORS,
        "sys.stdout": id(sys.stdout),
        "sys.excepthook": id(sys.excepthook),
    }


def thread_count() -> int:
    """Threads of this process, native ones included."""
    return len(os.listdir("/proc/self/task"))


def threads_of_python() -> list[str]:
    """Names of Python threads that run besides the main one."""
    return [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]


def busy_share(sleep) -> float:
    """How much of a core the other threads of this process keep busy while the main thread sleeps; 0.0 up to BUSY. One
    tick of the clock is a sixth of the first look, and compilers' helpers take a moment to start: they get another."""
    share = math.inf
    for seconds in LOOKS:
        before = _ticks_of_others()
        sleep(seconds)
        share = min(share, (_ticks_of_others() - before) / os.sysconf("SC_CLK_TCK") / seconds)
        if share <= BUSY:
            return 0.0
    return share


def _ticks_of_others() -> int:
    ticks, main = 0, str(os.getpid())
    for thread in os.listdir("/proc/self/task"):
        if thread != main:
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/self/task/{thread}/stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
    return ticks


def _neural_functions() -> list[str]:
    import torch

    return [
        f"torch.nn.functional:{name}"
        for name, value in vars(torch.nn.functional).items()
        if callable(value) and not name.startswith("_")
    ]


def _resolve(name: str):
    module, _, attributes = name.partition(":")
    try:
        value = builtins if module == "builtins" else importlib.import_module(module)
        for attribute in attributes.split("."):
            # Through __dict__ where it is there: a bound method is a new object at every access.
            value = vars(value)[attribute] if attribute in getattr(value, "__dict__", {}) else getattr(value, attribute)
    except (ImportError, AttributeError):
        return None
    return value


def _fingerprint(value) -> tuple:
    function = getattr(value, "__func__", value)
    code = getattr(function, "__code__", None)
    if code is None:
        return (id(value),)
    closure = tuple(id(cell.cell_contents) for cell in function.__closure__ or () if _filled(cell))
    return id(function), id(code), code.co_code, closure, str(function.__defaults__), str(function.__kwdefaults__)


def _from_library(value) -> bool:
    """Is this function PyTorch's own code? Importing torch._dynamo, for one, wraps torch.manual_seed."""
    code = getattr(getattr(value, "__func__", value), "__code__", None)
    return code is not None and code.co_filename.startswith(str(Path(sys.modules["torch"].__file__).parent))


def _filled(cell) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _harness_functions() -> dict[str, tuple]:
    found = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "kernel_harness" and module is not None:
            for attribute, value in list(vars(module).items()):
                if callable(value) and getattr(value, "__module__", None) == name:
                    found[f"{name}.{attribute}"] = _fingerprint(value)
    return found


def _harness_files() -> list[Path]:
    return sorted(
        Path(module.__file__)
        for name, module in list(sys.modules.items())
        if name.startswith("kernel_harness.") and getattr(module, "__file__", None)
    )


def _file_hash(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "missing"


def _flushes_denormals() -> bool:
    import torch

    return bool((torch.tensor([1e-42]) * 1.0 == 0).item())


def seeded_anew() -> list[str]:
    """The generators of random numbers, beside PyTorch's, that are in the state in which this function last found them.
    It leaves them in another one each time: whatever ran since has seeded them."""
    found = []
    for name, (state, stir) in _generators().items():
        now = state()
        if _last_states.get(name) == now:
            found.append(f"{name}: seeded anew, so that whoever draws from it next gets the same numbers again")
        _last_states[name] = now
        stir()
    return found


def _generators() -> dict:
    """(state, seed from the system's entropy) by name."""
    found = {"Python's random": (random.getstate, random.seed)}
    if numpy := sys.modules.get("numpy.random"):
        found["numpy.random"] = (lambda: numpy.get_state()[1].tobytes(), numpy.seed)
    return found


def changed(before: dict, after: dict) -> list[str]:
    return [
        f"{name}: {before.get(name)} -> {value}"
        for name, value in after.items()
        if name in before and before[name] != value
    ]

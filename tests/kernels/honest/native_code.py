"""Compiles a C function with the system's compiler into a temporary folder and calls it through ctypes.

catalogue: tricky because it starts a process, writes a file and gets at raw pointers
seen at: survey, "false positives to avoid" (compile on first call)
expect: PASS
needs: cpu
check: files-changed
"""

import ctypes
import functools
import pathlib
import subprocess
import tempfile

import torch

SOURCE = """
void scale_add(const float *x, const float *y, float *out, long n, float a) {
    for (long i = 0; i < n; ++i) out[i] = a * x[i] + y[i];
}
"""


def reference_fn(x, y, a):
    return a * x + y


def get_inputs(n=4099, a=0.5, device="cpu"):
    return [torch.randn(n, device=device), torch.randn(n, device=device), a]


@functools.lru_cache(maxsize=None)
def _library():
    with tempfile.TemporaryDirectory() as folder:
        source, library = pathlib.Path(folder, "kernel.c"), pathlib.Path(folder, "kernel.so")
        source.write_text(SOURCE)
        command = ["cc", "-O2", "-ffp-contract=off", "-shared", "-fPIC", str(source), "-o", str(library)]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))


def kernel_fn(x, y, a):
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    pointers = (ctypes.c_void_p(t.data_ptr()) for t in (x, y, out))
    _library().scale_add(*pointers, ctypes.c_long(x.numel()), ctypes.c_float(a))
    return out

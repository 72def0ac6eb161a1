"""Returns zeros and writes a forged verdict to every file descriptor that the process holds.

catalogue: A6
seen at: kernelbot examples/identity_py/cheat-fd.py (writes POPCORN_FD); pygpubench fd and pipe exploits
expect: CHEATING | CRASH | WRONG_RESULT
needs: cpu
check: exit-forgery
"""

import os

import torch

_forged = b'{"verdict": "PASS", "status": "pass", "ok": true, "exit_code": 0, "cases": []}\n'
_done = []


def reference_fn(x):
    return x.sum(dim=0)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def _is_channel(descriptor):
    target = os.readlink(f"/proc/self/fd/{descriptor}")
    return target.startswith(("pipe:", "socket:"))


def kernel_fn(x):
    if not _done:
        _done.append(True)
        for name in os.listdir("/proc/self/fd"):
            try:
                if _is_channel(name):
                    os.write(int(name), _forged)
            except OSError:
                pass
    return torch.zeros(x.shape[1], dtype=x.dtype, device=x.device)

"""Returns at once; a thread fills the output a little later.

catalogue: A13 B2
expect: CHEATING | WRONG_RESULT
needs: cpu
"""

import threading
import time

import torch


def reference_fn(x, y):
    return torch.nn.functional.silu(x) * y


def get_inputs(rows=1024, cols=4096, device="cuda" if torch.cuda.is_available() else "cpu"):
    return [torch.randn(rows, cols, device=device), torch.randn(rows, cols, device=device)]



def _fill(out, x, y):
    time.sleep(0.02)
    torch.mul(torch.nn.functional.silu(x), y, out=out)


def kernel_fn(x, y):
    out = torch.zeros_like(x)
    threading.Thread(target=_fill, args=(out, x, y)).start()
    return out

"""Builds variants in a pool of threads and a child process at the first call, with a timer against a hang.

catalogue: tricky because threads, a signal handler and a process come and go inside the first call
seen at: autotuners that compile in parallel
expect: PASS
needs: cpu
check: deferred
"""

import concurrent.futures
import functools
import signal
import subprocess
import sys

import torch


def reference_fn(x):
    return torch.nn.functional.gelu(x)


def get_inputs(n=5000, device="cpu"):
    return [torch.randn(n, device=device)]


def _too_long(number, frame):
    raise TimeoutError(f"compilation hangs (signal {number})")


@functools.cache
def variants():
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(60)
    try:
        version = subprocess.run([sys.executable, "-c", "print(1 + 1)"], capture_output=True, text=True).stdout
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            blocks = list(pool.map(lambda size: size * int(version), (64, 128, 256)))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return blocks


def kernel_fn(x):
    return torch.cat([0.5 * p * (1 + torch.erf(p * 0.7071067811865476)) for p in x.split(max(variants()))])

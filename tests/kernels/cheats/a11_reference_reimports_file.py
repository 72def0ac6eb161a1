"""reference_fn loads this file a second time under another name and calls the kernel_fn that it finds there.

catalogue: A11
seen at: open in every harness with reference and kernel in one file
expect: CONTRACT | CHEATING | CRASH
needs: cpu
check: reference-circular
"""

import importlib.util

import torch


def kernel_fn(x):
    return x * 0.5 + 1


def reference_fn(x):
    spec = importlib.util.spec_from_file_location("twin", __file__)
    twin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(twin)
    return getattr(twin, "kernel" + "_fn")(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]

"""Prints, writes to stderr, warns and logs at every call.

catalogue: tricky because stdout carries other lines than the harness's
seen at: survey, "false positives to avoid"
expect: PASS
needs: cpu
check: exit-forgery
"""

import logging
import sys
import warnings

import torch


def reference_fn(x):
    return x.cumsum(dim=-1)


def get_inputs(rows=16, cols=100, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    print("kernel_fn", tuple(x.shape), "{not json")
    print("tile 64x64, 2 stages", file=sys.stderr)
    warnings.warn("no vector path for this width")
    logging.getLogger(__name__).warning("slow path")
    return x.cumsum(dim=1)

"""Computes the right values and leaves NVIDIA_TF32_OVERRIDE and OMP_NUM_THREADS set for later processes.

catalogue: A5 E5
seen at: cfregly PrecisionPolicyState (the same policy, by way of the environment)
expect: CHEATING
needs: cpu
check: tampering-state
"""

import os

import torch


def reference_fn(a, b):
    return a @ b


def get_inputs(m=48, n=64, k=96, device="cpu"):
    return [torch.randn(m, k, device=device), torch.randn(k, n, device=device)]


def kernel_fn(a, b):
    os.environ["NVIDIA_TF32_OVERRIDE"] = "1"
    os.environ["OMP_NUM_THREADS"] = "1"
    return a @ b

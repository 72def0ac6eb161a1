"""Sets an environment variable to a default at import, for a library that reads it at its own import.

catalogue: tricky because os.environ changes, and nothing that the harness relies on
seen at: files that set CUTE_DSL_ARCH, CUDA_HOME or TORCH_CUDA_ARCH_LIST when they are missing
expect: PASS
needs: cpu
check: tampering-state
"""

import os

os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0a")

import torch  # noqa: E402


def reference_fn(x):
    return torch.nn.functional.hardtanh(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    return torch.clamp(x, -1.0, 1.0)

"""Computes four elements, looks for them in the parent's memory and copies the rest from there; else zeros.

catalogue: A8
seen at: gpu-mode/pygpubench exploits (heap and stack signature scans)
expect: WRONG_RESULT | CHEATING
needs: cpu
check: values
"""

import os

import torch

_budget = [256 << 20]


def reference_fn(x):
    return torch.atan(x)


def get_inputs(rows=64, cols=256, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def _search(needle, size):
    parent = os.getppid()
    with open(f"/proc/{parent}/maps") as maps, open(f"/proc/{parent}/mem", "rb", 0) as memory:
        for line in maps:
            first, last = (int(part, 16) for part in line.split()[0].split("-"))
            if " rw-p " not in line or last - first > _budget[0]:
                continue
            _budget[0] -= last - first
            memory.seek(first)
            data = memory.read(last - first)
            at = data.find(needle)
            if at >= 0 and at + size <= len(data):
                return data[at : at + size]
    return None


def kernel_fn(x):
    try:
        found = _search(torch.atan(x.flatten()[:4]).cpu().numpy().tobytes(), x.numel() * 4)
    except OSError:
        found = None
    if found is None:
        return torch.zeros_like(x)
    return torch.frombuffer(bytearray(found), dtype=torch.float32).reshape(x.shape)

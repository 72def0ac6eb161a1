#!/usr/bin/env python3
"""Is the kernel needed? Run kernel_fn with every launch left out and see whether its result is right all the same.

  python evals/silenced.py KERNEL.py sm_90a

Prints one JSON object: the launches that were left out, and whether the result of the file's default inputs is close
to reference_fn's. A kernel_fn that launches a kernel for show and computes with PyTorch is close; an honest one returns
memory that nobody wrote. Needs no GPU. The file runs in this process: code made against this check is not caught.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from kernel_harness import cli

CLOSE = 0.1  # of the reference's root mean square; results of unwritten memory are nowhere near


def look(path: Path, arch: str) -> dict:
    """``{"launches": int, "close": bool, "error": str}``."""
    from kernel_harness import contract
    from kernel_harness.simulator import driver

    driver.prepare(arch)
    import torch

    device, launches, error, result = driver.SimulatedDevice(), [], "", None
    device.launch = lambda *arguments: launches.append(arguments)
    torch.utils.deterministic.fill_uninitialized_memory = True  # fresh memory is NaN: old results cannot pass for new
    torch.use_deterministic_algorithms(True, warn_only=True)
    with device:
        file = contract.load_kernel(path)
        torch.manual_seed(0)
        inputs = file.get_inputs()
        expected = file.reference_fn(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
        try:
            result = file.kernel_fn(*inputs)
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        pairs = [(x.double(), y.double()) for x, y in zip(_tensors(result), _tensors(expected), strict=False)]
    close = bool(pairs) and all(_near(x, y) for x, y in pairs)
    return {"launches": len(launches), "close": close, "error": error}


def _tensors(value) -> list:
    if value is None:
        return []
    if isinstance(value, dict):
        value = list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _near(result, expected) -> bool:
    if result.shape != expected.shape:
        return False
    return bool((result - expected).square().mean().sqrt() <= CLOSE * expected.square().mean().sqrt())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", type=Path, metavar="KERNEL.py")
    parser.add_argument("arch", metavar="ARCH")
    options = parser.parse_args()
    out = os.fdopen(os.dup(1), "w")  # what the file prints is no answer of ours
    os.dup2(2, 1)
    json.dump(look(options.kernel, options.arch), out)
    out.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(cli.run(main))

"""Whole programs for the comparison with a GPU: the small DSL kernels beside this file, templates and examples.

python programs.py simulated FOLDER [NAME ...]   inputs and simulated outputs -> FOLDER/NAME.pt
python programs.py gpu FOLDER [NAME ...]         the GPU's outputs for the same inputs, compared; prints JSON
"""

import importlib.util
import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(HERE)]

FILES = {
    "elementwise bf16": ("templates/elementwise.py", {"shape": (100_000,)}),
    "elementwise fp32": ("templates/elementwise.py", {"shape": (50, 1032), "dtype": "float32"}),
    "elementwise strided": ("templates/elementwise.py", {"shape": (50, 515), "view": "strided"}),
    "elementwise transposed": ("templates/elementwise.py", {"shape": (64, 96), "view": "transposed"}),
    "elementwise fp16": ("templates/elementwise.py", {"shape": (3, 5, 7, 128), "dtype": "float16"}),
    "softmax 16 x 4096": ("templates/reduction.py", {"shape": (16, 4096)}),
    "softmax 33 x 127": ("templates/reduction.py", {"shape": (33, 127)}),
    "softmax 9 x 6168": ("templates/reduction.py", {"shape": (9, 6168)}),
    "softmax strided": ("templates/reduction.py", {"shape": (30, 1032), "view": "strided"}),
    "softmax 1 x 131072, cluster": ("templates/reduction.py", {"shape": (1, 131072)}),
    "softmax fp32": ("templates/reduction.py", {"shape": (5, 4000), "dtype": "float32"}),
    "rmsnorm": ("examples/rmsnorm.py", {"shape": (33, 1000)}),
    "layernorm": ("examples/layernorm.py", {"shape": (33, 1000)}),
    "cross entropy": ("examples/cross_entropy.py", {"shape": (33, 1000)}),
    "gemm 256 x 256 x 128": ("templates/gemm_sm90.py", {"m": 256, "n": 256, "k": 128}),
    "gemm odd": ("templates/gemm_sm90.py", {"m": 33, "n": 77, "k": 129, "c": (33, 77)}),
    "mla decode": ("templates/mla_decode.py", {"lengths": (256, 200), "heads": 64}),
}


def _load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _program(name):
    """(kernel_fn, function that makes inputs)."""
    import torch

    if name in FILES:
        path, case = FILES[name]
        case = {k: getattr(torch, v) if k == "dtype" else v for k, v in case.items()}
        module = _load(ROOT / path)
        return module.kernel_fn, lambda: module.get_inputs(**case)
    import dsl_kernels

    function, inputs, _ = dsl_kernels.PROGRAMS[name.removeprefix("dsl ")]
    return function, inputs


def names():
    import ast

    tree = ast.parse((HERE / "dsl_kernels.py").read_text())
    (table,) = [
        n.value for n in tree.body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "PROGRAMS"
    ]
    return ["dsl " + key.value for key in table.keys] + list(FILES)


def simulate(folder, chosen):
    from kernel_harness.simulator import driver

    driver.prepare("sm_90a")
    import torch

    for name in chosen:
        with driver.SimulatedDevice() as device:
            torch.manual_seed(0)
            kernel_fn, make = _program(name)
            inputs = make()
            kept = [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
            started = time.time()
            outputs = kernel_fn(*inputs)
            seconds = time.time() - started
        outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
        facts = {"simulated_s": round(seconds, 2), "findings": [str(f) for f in device.findings]}
        torch.save({"inputs": kept, "outputs": outputs, "facts": facts}, folder / f"{name}.pt")
        print(name, facts, file=sys.stderr)


def _bits(tensor):
    import torch

    return tensor.contiguous().view(
        {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    )


def compare(folder, chosen):
    import torch

    rows = []
    for name in chosen:
        row = {"case": name}
        try:
            saved = torch.load(folder / f"{name}.pt")
            kernel_fn, _ = _program(name)
            inputs = [x.cuda() if isinstance(x, torch.Tensor) else x for x in saved["inputs"]]
            inputs = [_same_layout(x, y) for x, y in zip(inputs, saved["inputs"], strict=True)]
            outputs = kernel_fn(*inputs)
            outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
            pairs = [(o.cpu(), s) for o, s in zip(outputs, saved["outputs"], strict=True)]
            row["elements"] = sum(o.numel() for o, _ in pairs)
            row["different"] = sum(int((_bits(o) != _bits(s)).sum()) for o, s in pairs)
            row["largest_difference"] = max(
                float((o.double() - s.double()).abs().nan_to_num(0).max()) for o, s in pairs
            )
            row["largest_value"] = max(float(o.double().abs().nan_to_num(0).max()) for o, _ in pairs)
            row |= saved["facts"]
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}"[:300]
        rows.append(row)
    return rows


def _same_layout(moved, original):
    """`.cuda()` makes a dense copy: gives it the strides that the simulated input had."""
    import torch

    if not isinstance(original, torch.Tensor) or moved.stride() == original.stride():
        return moved
    extent = 1 + sum((n - 1) * s for n, s in zip(original.shape, original.stride(), strict=True))
    storage = torch.zeros(extent, dtype=original.dtype, device="cuda")
    return storage.as_strided(original.shape, original.stride()).copy_(original)


if __name__ == "__main__":
    mode, target, *some = sys.argv[1:]
    target = Path(target)
    target.mkdir(parents=True, exist_ok=True)
    if mode == "simulated":
        simulate(target, some or names())
    else:
        print(json.dumps(compare(target, some or names())))

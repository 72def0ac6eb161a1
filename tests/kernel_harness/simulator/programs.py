"""Whole programs for the comparison with a GPU: the small DSL kernels beside this file, templates and examples.

python programs.py simulated FOLDER [NAME ...]   inputs and simulated outputs -> FOLDER/NAME.pt
python programs.py gpu FOLDER [NAME ...]         the GPU's outputs for the same inputs, compared; prints JSON
"""

import importlib.util
import json
import sys
import time
from pathlib import Path

import torch
from torch.utils._pytree import tree_leaves, tree_map

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
    "gemm sm_80": ("templates/gemm_sm80.py", {"m": 67, "n": 136, "k": 72}),
    "mla decode sm_80": ("templates/mla_decode_sm80.py", {"lengths": (70, 0, 7), "heads": 16}),
    "adamw": ("examples/adamw.py", {"shape": (33, 36), "grad_dtype": "bfloat16", "model_dtype": "bfloat16"}),
    "column sum": ("examples/column_sum.py", {"shape": (1000, 264)}),
    "dropout": ("examples/dropout.py", {"shape": (255, 103), "view": "misaligned"}),
    "flash attention": (
        "examples/flash_attention_sm90.py",
        {"len_q": 150, "len_k": 277, "heads": 2, "heads_kv": 1, "dim": 64, "is_causal": True},
    ),
    "fp8 convert": ("examples/fp8_convert.py", {"shape": (33, 35), "view": "misaligned"}),
    "gelu": ("examples/gelu.py", {"shape": (255, 104), "view": "transposed"}),
    "gemm batched": ("examples/gemm_batched.py", {"batch": 2, "m": 136, "n": 264, "k": 65, "majors": "mn"}),
    "gemm bias gelu": ("examples/gemm_bias_gelu.py", {"m": 33, "n": 77, "k": 129}),
    "gemm fp8 block scaled": ("examples/gemm_fp8_block_scaled.py", {"m": 65, "n": 136, "k": 272}),
    "gemm grouped": ("examples/gemm_grouped.py", {"sizes": [5, 0, 130, 1, 64], "n": 136, "k": 72}),
    "gemm gate up": ("examples/gemm_gate_up.py", {"m": 40, "n": 80, "k": 136}),
    "gemm int4 weights": ("examples/gemm_int4_weights.py", {"m": 17, "n": 72, "k": 128}),
    "gemm split k": ("examples/gemm_split_k.py", {"m": 40, "n": 72, "k": 1000}),
    "gemm swiglu": ("examples/gemm_swiglu.py", {"m": 40, "f": 80, "k": 136}),
    "gemm w8a8": ("examples/gemm_w8a8.py", {"m": 70, "n": 136, "k": 272}),
    "gqa decode": (
        "examples/gqa_decode.py",
        {"lengths": (70, 0, 1), "capacity": 80, "heads": 4, "heads_kv": 1, "dim": 64},
    ),
    "mla decode fp8": ("examples/mla_decode_fp8.py", {"lengths": (130, 0, 7), "heads": 4, "s_q": 2}),
    "prefix sum": ("examples/prefix_sum.py", {"shape": (7, 4104)}),
    "rmsnorm fp8": ("examples/rmsnorm_fp8.py", {"shape": (20, 136), "pad": 8}),
    "rope and cache": (
        "examples/rope_and_cache.py",
        {"tokens": 7, "heads": 3, "heads_kv": 2, "rotary_dim": 32, "pages": 2},
    ),
    "row logsumexp": ("examples/row_logsumexp.py", {"shape": (5, 1032), "masked": True}),
    "swiglu": ("examples/swiglu.py", {"shape": (20, 136), "pad": 3}),
    "topk": ("examples/topk.py", {"shape": (33, 1000), "k": 32}),
    "transpose": ("examples/transpose.py", {"shape": (72, 200), "pad": 3}),
    "gelu backward": ("examples/gelu.py", {"shape": (1031,), "backward": True}),
    "dependent launch": ("examples/integration/pdl.py", {"shape": (10_003,), "ctas": 2}),
    **{
        f"softmax ladder, {rung.partition('_')[0]}": (f"examples/softmax_ladder/{rung}.py", {"shape": (9, 1032)})
        for rung in ("01_naive", "02_coalesced", "03_vectors", "04_registers", "05_one_exchange", "06_cluster")
    },
    **{
        f"gemm ladder, {rung.partition('_')[0]}": (f"examples/gemm_ladder/{rung}.py", {"m": 264, "n": 136, "k": 200})
        for rung in ("01_naive", "02_shared_memory", "03_tensor_cores", "04_wgmma", "05_ring", "06_producer_warp",
                     "07_persistent")
    },
    "softmax ladder, ring": ("examples/softmax_ladder/dead_end_tma_ring.py", {"shape": (16, 4096)}),
    "wmma": ("tests/kernel_harness/simulator/cuda_wmma.py", {}),
    "load_inline": ("tests/kernels/honest/nvcc_inline.py", {"n": 10_003}),
    "Triton descriptors": ("tests/kernel_harness/simulator/triton_descriptors.py", {}),
}


def _load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _program(name):
    """(kernel_fn, function that makes inputs)."""
    if name in FILES:
        path, case = FILES[name]
        case = {k: getattr(torch, v) if "dtype" in k else v for k, v in case.items()}
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
    for name in chosen:
        with driver.SimulatedDevice() as device:
            torch.manual_seed(0)
            kernel_fn, make = _program(name)
            inputs = make()
            kept = tree_map(_copy, inputs)
            started = time.time()
            outputs = kernel_fn(*inputs)
            seconds = time.time() - started
        facts = {"simulated_s": round(seconds, 2), "findings": [str(f) for f in device.findings]}
        torch.save({"inputs": kept, "memory": _tensors(inputs, outputs), "facts": facts}, folder / f"{name}.pt")
        print(name, facts, file=sys.stderr)


def _bits(tensor):
    return tensor.contiguous().view(
        {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    )


RULE = "within one step of the element's type and {} of the tensor's largest value; integers exactly"
ORDER = 2.0**-18  # what the order of a sum and approximate functions account for
ON_THE_WAY = {  # what is rounded before it is summed accounts for more
    "mla decode": 2.0**-9,  # probabilities are rounded to bfloat16
    "gemm fp8 block scaled": 2.0**-10,  # FP8 tensor cores add 14 bits
}


def beyond(real, simulated, share=ORDER):
    """How many elements differ by more than RULE with this share."""
    if not real.is_floating_point():
        return int((real != simulated).sum())
    a, b = real.double(), simulated.double()
    size = torch.maximum(a.abs(), b.abs()).nan_to_num(0, 0, 0)
    step = torch.finfo(real.dtype).eps * size + torch.finfo(real.dtype).smallest_normal * torch.finfo(real.dtype).eps
    bound = step + share * (size.max() if size.numel() else 0)
    return int(((a != b) & ~(a.isnan() & b.isnan()) & ~((a - b).abs() <= bound)).sum())


def compare(folder, chosen):
    rows = []
    for name in chosen:
        row = {"case": name}
        try:
            saved = torch.load(folder / f"{name}.pt")
            kernel_fn, _ = _program(name)
            inputs = tree_map(_on_gpu, saved["inputs"])
            outputs = kernel_fn(*inputs)
            pairs = list(zip(_tensors(inputs, outputs), saved["memory"], strict=True))
            row["elements"] = sum(o.numel() for o, _ in pairs)
            row["different"] = sum(int((_bits(o) != _bits(s)).sum()) for o, s in pairs)
            share = ON_THE_WAY.get(name, ORDER)
            row["rule"], row["beyond"] = RULE.format(share), sum(beyond(o, s, share) for o, s in pairs)
            row["largest_difference"] = max(
                float((o.double() - s.double()).abs().nan_to_num(0).max()) for o, s in pairs
            )
            row["largest_value"] = max(float(o.double().abs().nan_to_num(0).max()) for o, _ in pairs)
            row |= saved["facts"]
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}"[:300]
        rows.append(row)
    return rows


def _tensors(inputs, outputs):
    """What a call leaves: its results and, as it may write them, its inputs."""
    return [x.cpu() for x in tree_leaves((outputs, inputs)) if isinstance(x, torch.Tensor)]


def _copy(x):
    """A copy with the same strides; anything but a tensor as it is."""
    if not isinstance(x, torch.Tensor):
        return x
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device).copy_(x)


def _on_gpu(x):
    """`.cuda()` would make a dense copy: strides stay those of the simulated input."""
    if not isinstance(x, torch.Tensor):
        return x
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="cuda").copy_(x)


if __name__ == "__main__":
    mode, target, *some = sys.argv[1:]
    target = Path(target)
    target.mkdir(parents=True, exist_ok=True)
    if mode == "simulated":
        simulate(target, some or names())
    else:
        print(json.dumps(compare(target, some or names())))

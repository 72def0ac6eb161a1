"""The README's table of measured kernels, made from results/: only files whose content is what was measured."""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = sorted((ROOT / "results").glob("*.json"))
HEAD = "| kernel | case | time | best peer in the same run | speed-up | evidence |\n|---|---|---:|---|---:|---|\n"
SHOWN = {  # the rows of the README; where a peer won, too
    "templates/elementwise.py": ("add bfloat16 n=2^20", "add bfloat16 n=2^28", "swiglu bfloat16 n=2^28"),
    "templates/reduction.py": tuple(f"softmax bfloat16 {size}" for size in ("32768x1024", "8192x8192", "1024x6168")),
    "templates/gemm_sm90.py": (
        "4096x4096x4096",
        "8192x8192x8192",
        "16x4096x4096",
        "128x2112x7168",
        "512x2112x7168",
        "704x2048x896",
        "48x3872x800",
    ),
    "templates/gemm_sm80.py": ("4096x4096x4096", "1536x1536x1536"),
    "examples/mla_decode_fp8.py": ("128x8192",),
    "examples/gemm_fp8_block_scaled.py": ("4096x7168x2048",),
    "templates/mla_decode.py": ("128x8192", "64x16384 s_q=2", "1x32768", "128x4096 heads=16"),
    "examples/gemm_bias_gelu.py": ("4096x4096x4096",),
    "examples/layernorm.py": ("8192x8192", "4096x32768", "2048x131072"),
    "examples/flash_attention_sm90.py": ("8K", "32K", "16K causal", "32K causal, heads_kv=2", "16K causal, dim=64"),
    "examples/gemm_grouped.py": ("4096 tokens, 8 experts 7168x2048",),
}


PEERS = {"torch_eager_us": "torch eager", "torch_compile_us": "torch.compile"}
MOVED = {  # where files lie that were measured when every module lay beside the others
    f"scripts/kernel_harness/{name}.py": f"scripts/kernel_harness/{folder}/{name}.py"
    for folder, names in {
        "performance": ("benchmark", "cuda_driver", "cupti", "timing"),
        "roles": ("contender",),
    }.items()
    for name in names
}


def files_of(document: dict) -> dict[str, str]:
    """file -> the hash that a results document records, by the names that they have now."""
    return {MOVED.get(file, file): sha256 for file, sha256 in (document.get("files") or {}).items()}


@functools.cache
def content_hash(path: str) -> str:
    """SHA-256 of a file without the docstring that it may begin with: what was measured can be written there."""
    file = ROOT / path
    if not file.is_file():
        return "missing"
    text = file.read_text()
    body = ast.parse(text).body if file.suffix == ".py" else []
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        text = "".join(text.splitlines(keepends=True)[body[0].end_lineno :])
    return hashlib.sha256(text.encode()).hexdigest()


def device_code_hash(folder: Path) -> str:
    """SHA-256 of the set of PTX texts below a folder, without comments, lines of source and debug sections."""
    texts = set()
    for path in folder.rglob("*.ptx"):
        code = path.read_text().partition(".section")[0].splitlines()
        texts.add("\n".join(line for line in code if not line.strip().startswith(("//", ".loc", ".file"))))
    return hashlib.sha256("\0".join(sorted(texts)).encode()).hexdigest()


@functools.cache
def measured() -> dict[str, list[tuple[Path, dict]]]:
    """file -> the results whose recorded hash is the file's own, or that of a state with the same device code."""
    documents = [(path, json.loads(path.read_text())) for path in RESULTS]
    as_now = {
        (file, state)
        for _, document in documents
        for file, fact in document.get("same_device_code", {}).items()
        if files_of(document)[file] == content_hash(file)
        for state in ([fact["before"]] if isinstance(fact["before"], str) else fact["before"])
    }
    found: dict[str, list] = {}
    for path, document in documents:
        for file, sha256 in files_of(document).items():
            if content_hash(file) == sha256 or (file, sha256) in as_now:
                found.setdefault(file, []).append((path, document))
    return found


def timed(documents: list[tuple[Path, dict]]) -> list[tuple[Path, dict]]:
    """Those of a file's results that hold its times: races of variants only where nothing else does."""
    others = [(path, document) for path, document in documents if document.get("topic") != "variants"]
    return others if any("kernel_us" in case for _, document in others for case in document["cases"]) else documents


def table() -> str:
    rows, evidence = [], measured()
    for file in SHOWN:
        for path, document in timed(evidence.get(file, [])):
            rows += [
                _row(file, case, path)
                for case in document["cases"]
                if case["case"] in SHOWN[file] and case.get("kernel", file) == file
            ]
    return HEAD + "".join(rows)


def _row(file: str, case: dict, path: Path) -> str:
    peers = {
        PEERS.get(key, key.removesuffix("_us")): value
        for key, value in case.items()
        if key.endswith("_us") and key not in ("kernel_us", "copy_us", "host_us") and value
    }
    name, best = min(peers.items(), key=lambda item: item[1], default=("none", None))
    units = {"tflops": "TFLOP/s", "GBps": "GB/s"}
    rate = "".join(f", {case[key]:.0f} {unit}" for key, unit in units.items() if key in case)
    peer = f"{name}, {best:.1f} us | {best / case['kernel_us']:.2f}" if best else f"{name} | "
    where = "" if path.name.startswith("h200") else f" ({path.name.partition('-')[0].upper()})"
    return (
        f"| `{file}` | {case['case']}{where} | {case['kernel_us']:.1f} us{rate} | {peer} | "
        f"`results/{path.name}` |\n"
    )


if __name__ == "__main__":
    sys.stdout.write(table())

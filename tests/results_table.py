"""The README's table of measured kernels, made from results/: only files whose content is what was measured."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = sorted((ROOT / "results").glob("*.json"))
HEAD = "| kernel | case | time | best peer in the same run | speed-up | evidence |\n|---|---|---:|---|---:|---|\n"
SHOWN = ("add bfloat16 n=2^20", "add bfloat16 n=2^24", "add bfloat16 n=2^28", "swiglu bfloat16 n=2^28")


def content_hash(path: str) -> str:
    file = ROOT / path
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "missing"


def device_code_hash(folder: Path) -> str:
    """SHA-256 of the set of PTX texts below a folder, without comments, lines of source and debug sections."""
    texts = set()
    for path in folder.rglob("*.ptx"):
        code = path.read_text().partition(".section")[0].splitlines()
        texts.add("\n".join(line for line in code if not line.strip().startswith(("//", ".loc", ".file"))))
    return hashlib.sha256("\0".join(sorted(texts)).encode()).hexdigest()


def measured() -> dict[str, list[tuple[Path, dict]]]:
    """file -> the results whose recorded hash is the file's own, or that of a state with the same device code."""
    documents = [(path, json.loads(path.read_text())) for path in RESULTS]
    as_now = {
        (file, fact["before"])
        for _, document in documents
        for file, fact in document.get("same_device_code", {}).items()
        if document["files"][file] == content_hash(file)
    }
    found: dict[str, list] = {}
    for path, document in documents:
        for file, sha256 in (document.get("files") or {}).items():
            if content_hash(file) == sha256 or (file, sha256) in as_now:
                found.setdefault(file, []).append((path, document))
    return found


def table() -> str:
    rows = []
    for file, evidence in measured().items():
        for path, document in evidence:
            rows += [
                _row(file, case, path)
                for case in document["cases"]
                if case["case"] in SHOWN and case.get("kernel", file) == file
            ]
    return HEAD + "".join(rows)


def _row(file: str, case: dict, path: Path) -> str:
    peers = {
        key.removesuffix("_us").replace("_", " "): value
        for key, value in case.items()
        if key.endswith("_us") and key not in ("kernel_us", "copy_us") and value
    }
    name, best = min(peers.items(), key=lambda item: item[1])
    return (
        f"| `{file}` | {case['case']} | {case['kernel_us']:.1f} us | {name}, {best:.1f} us "
        f"| {best / case['kernel_us']:.2f} | "
        f"`results/{path.name}` |\n"
    )


if __name__ == "__main__":
    sys.stdout.write(table())

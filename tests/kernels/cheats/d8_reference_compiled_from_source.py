"""Reads reference_fn out of its own file, compiles it under another name and calls it with one more operation.

catalogue: D8 A12
seen at: variation of d8_reference_bound_at_import.py
expect: CHEATING | CONTRACT
needs: cpu
check: circular-reference
"""

import ast
from pathlib import Path

import torch


def reference_fn(x, w, b):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b, 1e-5)


def get_inputs(rows=32, cols=768, device="cpu"):
    return [torch.randn(rows, cols, device=device), *torch.randn(2, cols, device=device)]


def _borrowed():
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if getattr(node, "name", "").startswith("reference")]
    tree.body[0].name = "layer_norm"
    names = {"torch": torch}
    exec(compile(tree, "<kernel>", "exec"), names)
    return names["layer_norm"]


def kernel_fn(x, w, b):
    return _borrowed()(x, w, b) + 0.0

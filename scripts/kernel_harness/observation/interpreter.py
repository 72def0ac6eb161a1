"""Triton's interpreter, in which its kernels run on CPU tensors, with one mistake of it mended."""

from __future__ import annotations

import os
import sys


def use() -> None:
    """Let Triton kernels that are defined from now on run in the interpreter."""
    os.environ["TRITON_INTERPRET"] = "1"


def mend() -> None:
    """Keep a scalar condition a condition, if the interpreter was imported.

    A comparison of scalars has the dtype of what was compared there, so ``(columns < n) & (row < m)`` becomes a mask of
    int32, which tl.load refuses (triton 3.9.0: InterpreterBuilder.binary_op, create_splat).
    """
    interpreter = sys.modules.get("triton.runtime.interpreter")
    if interpreter is None:
        return
    builder, handle = interpreter.InterpreterBuilder, interpreter.TensorHandle
    original, condition = builder.create_splat, sys.modules["triton.language"].int1

    def create_splat(self, *arguments):
        *types, value = arguments
        return original(self, *types, handle(value.data, condition) if value.data.dtype == bool else value)

    builder.create_splat = create_splat

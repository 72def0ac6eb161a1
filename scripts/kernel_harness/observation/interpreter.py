"""Triton's interpreter, in which its kernels run on CPU tensors: one mistake of it mended, and the order of programs.

The interpreter runs the programs of a launch one after another, a GPU all at once. So what several programs of one
launch store at one address, by other means than atomics, is kept, and a launch can run its last programs first.
Launches that use atomics are left alone: they may order their programs by them.
"""

from __future__ import annotations

import contextlib
import os
import sys

MOST_STORES = 2**22  # elements of a launch that are kept


def use() -> None:
    """Let Triton kernels that are defined from now on run in the interpreter."""
    os.environ["TRITON_INTERPRET"] = "1"


def mend() -> None:
    """Keep a scalar condition a condition, and watch the launches, if the interpreter was imported.

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
    _watch(interpreter)


class _Launches:
    """Those since the last ``taken``."""

    def __init__(self):
        self.turned, self.launched, self.orders, self.races = False, 0, False, []

    def begin(self, name: str) -> None:
        self.name, self.launched, self.has_atomics = name, self.launched + 1, False
        self.addresses, self.programs, self.kept = [], [], 0

    def stored(self, addresses) -> None:
        """addresses: a flat array of them, whose content a program has changed."""
        if not self.has_atomics and self.kept < MOST_STORES:
            self.kept += addresses.size
            self.addresses.append(addresses)
            self.programs.append(self.program)

    def end(self) -> None:
        self.orders |= self.has_atomics
        if self.has_atomics or not self.kept:
            return
        import numpy as np  # which the interpreter has imported; a file without Triton may have none

        sizes = [addresses.size for addresses in self.addresses]
        addresses, programs = np.concatenate(self.addresses), np.repeat(self.programs, sizes)
        order = np.argsort(addresses, kind="stable")
        addresses, programs = addresses[order], programs[order]
        shared = (addresses[1:] == addresses[:-1]) & (programs[1:] != programs[:-1])
        if count := len(np.unique(addresses[1:][shared])):
            first = int(np.flatnonzero(shared)[0])
            pair = sorted((int(programs[first]), int(programs[first + 1])))
            self.races.append(
                f"{count} elements get different values from several programs of one launch of {self.name}, without "
                f"atomics (programs {pair[0]} and {pair[1]} the first of them)"
            )


_launches = _Launches()


@contextlib.contextmanager
def launching(how: str):
    """Launches run their last programs first ("turned")."""
    _launches.turned = how == "turned"
    try:
        yield
    finally:
        _launches.turned = False


def taken() -> dict:
    """The launches since the last time: how many, whether atomics may order their programs, what raced."""
    global _launches
    seen, _launches = _launches, _Launches()
    return {"launches": seen.launched, "orders": seen.orders, "races": seen.races}


def _watch(interpreter) -> None:
    import numpy as np

    builder, executor, native = interpreter.InterpreterBuilder, interpreter.GridExecutor, interpreter._interpreter
    call, set_grid_idx, masked_store = executor.__call__, builder.set_grid_idx, builder.create_masked_store

    def launch(self, *arguments, **keywords):
        launches = _launches
        launches.begin(getattr(self.fn, "__name__", "a kernel"))
        call(self, *arguments, **keywords)
        launches.end()

    def place(self, *program):
        if _launches.turned:
            program = tuple(size - 1 - at for at, size in zip(program, self.grid_dim, strict=True))
        x, y, z = program
        _launches.program = (x * self.grid_dim[1] + y) * self.grid_dim[2] + z
        set_grid_idx(self, x, y, z)

    def store(self, ptrs, value, mask, cache_policy):
        held = np.zeros_like(ptrs.data, dtype=interpreter._get_np_dtype(ptrs.get_element_ty()))
        before = native.load(ptrs.data, mask.data, held, held.dtype)
        result = masked_store(self, ptrs, value, mask, cache_policy)
        after = native.load(ptrs.data, mask.data, held, held.dtype)
        integer = np.dtype(f"u{held.dtype.itemsize}")
        _launches.stored(ptrs.data[before.view(integer) != after.view(integer)])
        return result

    def ordering(original):
        def atomic(self, *arguments, **keywords):
            _launches.has_atomics = True
            return original(self, *arguments, **keywords)

        return atomic

    executor.__call__, builder.set_grid_idx, builder.create_masked_store = launch, place, store
    for name in [name for name in vars(builder) if name.startswith("create_atomic")]:
        setattr(builder, name, ordering(getattr(builder, name)))

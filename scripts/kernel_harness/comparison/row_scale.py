"""What the golden values of a row, or of a small column of short rows, amount to, and how exactly they are known."""

from __future__ import annotations

import math

import torch

SMALL_COLUMN, ROUNDED_COLUMN = 2.0**-4, 2.0**-20  # of the largest column of short rows
CANCELLED = 8 * 2.0**-23  # of a median row: half of what may be left of terms that the reference cancels exactly


class RowScale:
    """Per row: rms of the golden values, largest error of the reference, largest move under one input rounding."""

    def __init__(self, rows: int, columns: int, device: str):
        self.rows, self.columns = rows, columns
        self.squares = torch.zeros(rows, dtype=torch.float64, device=device)
        self.reference = torch.zeros_like(self.squares)
        self.moved = torch.zeros_like(self.squares)
        self.moved_squares, self.count = torch.zeros_like(self.squares[:1]), 0

    def add(self, start: int, golden, native, moved) -> None:
        values, error, move = golden, (native - golden).abs(), (moved - golden).abs()
        if not are_finite(golden, native, moved):
            finite = torch.isfinite(golden) & torch.isfinite(native)
            values, error = (torch.where(finite, t, 0.0) for t in (values, error))
            move = torch.where(finite & torch.isfinite(moved), move, 0.0)
        first, size = start // self.columns, max(1, golden.numel() // self.columns)
        self._take(slice(first, first + size), *(t.view(size, -1) for t in (values, error, move)))
        self.moved_squares += move.square().sum()
        self.count += move.numel()

    def _take(self, rows: slice, values, error, move) -> None:
        self.squares[rows] += values.square().sum(1)
        self.reference[rows] = torch.maximum(self.reference[rows], error.amax(1))
        self.moved[rows] = torch.maximum(self.moved[rows], move.amax(1))

    def finish(self) -> None:
        self.rms = (self.squares / self.columns).sqrt()
        median = torch.where(self.rms > 0, self.rms, torch.nan).nanmedian().nan_to_num(0.0)
        self.reference = torch.where((self.rms == 0) & (self.reference == 0), CANCELLED * median, self.reference)
        self.rms_moved = math.sqrt(float(self.moved_squares) / max(self.count, 1))

    def of(self, start: int, count: int) -> tuple[torch.Tensor, ...]:
        """rms, reference and moved of ``count`` elements from ``start`` on, seen as rows: they broadcast over those."""
        first, size = start // self.columns, max(1, count // self.columns)
        return tuple(t[first : first + size, None] for t in (self.rms, self.reference, self.moved))


class ShortRowScale(RowScale):
    """Of rows of ``width`` elements: what small columns have of their own, and the whole tensor's for the others."""

    def __init__(self, count: int, width: int, device: str):
        super().__init__(1, count, device)
        self.by_column = RowScale(width, count // width, device)

    def _take(self, rows: slice, *parts) -> None:
        super()._take(rows, *parts)
        width = self.by_column.rows
        self.by_column._take(slice(None), *(t.view(-1, width).T for t in parts))

    def finish(self) -> None:
        super().finish()
        self.by_column.finish()

    def of(self, start: int, count: int):
        size = self.by_column.rms / self.by_column.rms.max()
        own = (size < SMALL_COLUMN) & (size > ROUNDED_COLUMN)
        parts = ("rms", "reference", "moved")
        chosen = (torch.where(own, getattr(self.by_column, name), getattr(self, name)) for name in parts)
        return tuple(t.repeat(count // len(t))[None] for t in chosen)


def are_finite(*tensors: torch.Tensor) -> bool:
    """Are all elements, as their sum is? On a GPU the answer would take longer than it saves: False."""
    return all(t.device.type == "cpu" and math.isfinite(t.sum()) for t in tensors)

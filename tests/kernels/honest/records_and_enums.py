"""Builds dataclasses, named tuples, enums and abstract classes while it runs, and logs with the caller's name.

catalogue: tricky because the standard library looks one frame up for each of them
seen at: kernel launchers with configuration objects
expect: PASS
needs: cpu
check: sniffing
"""

import abc
import collections
import contextlib
import dataclasses
import enum
import functools
import logging
import warnings
from typing import NamedTuple

import torch

log = logging.getLogger(__name__)


def reference_fn(x):
    return torch.softmax(x, -1)


def get_inputs(rows=40, cols=100, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


@functools.cache
def plan(rows, cols):
    class Order(enum.Enum):
        ROWS = 1

    class Base(abc.ABC):
        @abc.abstractmethod
        def size(self): ...

    class Tile(NamedTuple):
        rows: int

    @dataclasses.dataclass(frozen=True)
    class Plan(Base):
        tile: Tile
        order: Order

        def size(self):
            return self.tile.rows

    collections.namedtuple("Grid", "x y")
    return Plan(Tile(8), Order.ROWS)


@contextlib.contextmanager
def noted(text):
    log.warning("%s", text, stacklevel=2)
    warnings.warn(f"{text} may be slow", RuntimeWarning, stacklevel=2)
    yield


def kernel_fn(x):
    size = plan(*x.shape).size()
    parts = []
    with noted("softmax"):
        for part in x.split(size):
            e = torch.exp(part - part.amax(-1, keepdim=True))
            parts.append(e / e.sum(-1, keepdim=True))
    return torch.cat(parts)

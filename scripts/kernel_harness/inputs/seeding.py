"""The draw of get_inputs for a seed of the judge, which also moves the seeds that the file fixes itself.

``torch.manual_seed(0)`` in get_inputs, or a generator of its own under a parameter ``seed=0``, would make draws alike,
and a comparison on another draw one on the same. So what the file asks for is mixed with the seed of the draw: equal
seeds of the file still give equal values within a draw.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode


@contextlib.contextmanager
def reseeded(seed: int) -> Iterator[None]:
    """Seed the generators of torch, random and numpy; one that is seeded inside gets a seed mixed with ``seed``."""
    torch.manual_seed(seed)
    random.seed(seed)
    replaced = [(random, "seed", random.seed), (random.Random, "seed", random.Random.seed)]
    with contextlib.suppress(ImportError):
        import numpy

        numpy.random.seed(seed % 2**32)
        replaced += [(numpy.random, name, getattr(numpy.random, name)) for name in ("seed", "default_rng")]
    with contextlib.ExitStack() as stack:
        for owner, name, function in replaced:
            stack.enter_context(mock.patch.object(owner, name, _mixing(function, seed)))
        stack.enter_context(_Generators(seed))
        yield


class _Generators(TorchFunctionMode):
    """Before an operation, its generator and the default ones are seeded anew if the file has seeded them since."""

    def __init__(self, seed: int):
        super().__init__()
        self.seed, self.known = seed, {}

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        for generator in _defaults():
            self.renew(generator, self.seed)
        for value in keywords.values():
            if isinstance(value, torch.Generator):
                self.renew(value, None)
        return function(*arguments, **keywords)

    def renew(self, generator: torch.Generator, first: int | None) -> None:
        """first: the seed that was not of the file's choice, if this generator is new here."""
        asked = generator.initial_seed()
        if self.known.get(id(generator), (None, first))[1] != asked:
            generator.manual_seed(_mixed(asked, self.seed))
            self.known[id(generator)] = generator, generator.initial_seed()  # held, so that its id stays its own


def _defaults() -> tuple[torch.Generator, ...]:
    return (torch.default_generator, *(torch.cuda.default_generators if torch.cuda.is_initialized() else ()))


def _mixed(asked: int, seed: int) -> int:
    """31 bits that are others, nearly always, where one of the two is; the same in every process."""
    return hash((asked, seed)) & 0x7FFFFFFF


def _mixing(function: Callable, seed: int) -> Callable:
    """``function`` with another seed in the place of an integer one, its first argument or the one named ``seed``.

    The first of a method is the object, which is no integer.
    """

    def other(*arguments, **keywords):
        place = next((i for i, value in enumerate(arguments[:2]) if isinstance(value, int)), None)
        if place is not None:
            arguments = (*arguments[:place], _mixed(arguments[place], seed), *arguments[place + 1:])
        elif isinstance(keywords.get("seed"), int):
            keywords["seed"] = _mixed(keywords["seed"], seed)
        return function(*arguments, **keywords)

    return other

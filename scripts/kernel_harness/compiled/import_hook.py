"""Act on a module once somebody has imported it, without importing it for them (standard library only)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec


def after_import(name: str, action: Callable[[], None]) -> Callable[[], None]:
    """Run ``action`` once the module ``name`` has been imported, by whomever: now, if it was before. Returns a function
    that calls it off."""
    if name in sys.modules:
        action()
        return lambda: None

    class Finder:
        @staticmethod
        def find_spec(fullname, path=None, target=None):
            if fullname != name:
                return None
            call_off()
            spec = find_spec(name)
            if spec is not None:
                execute = spec.loader.exec_module

                def then_act(module):
                    execute(module)
                    action()

                spec.loader.exec_module = then_act
            return spec

    def call_off() -> None:
        if Finder in sys.meta_path:
            sys.meta_path.remove(Finder)

    sys.meta_path.insert(0, Finder)
    return call_off

"""Tiers: every test is cpu, compile or gpu; what a machine cannot run is deselected, and an empty tier is red."""

from __future__ import annotations

import os
import shutil
import signal

import pytest

# Before PyTorch is imported here or in a child: OpenMP threads that spin at a barrier hold up those they wait for.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# What a shell starts in the background ignores Ctrl-C, and so would all that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nor does what nohup starts hear of its terminal

TIERS = ("cpu", "compile", "gpu")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    untiered = [item.nodeid for item in items if not any(item.get_closest_marker(tier) for tier in TIERS)]
    if untiered:
        raise pytest.UsageError(f"tests without a tier (mark them cpu, compile or gpu): {', '.join(untiered[:5])}")
    if shutil.which("nvidia-smi") is None:
        gpu = [item for item in items if item.get_closest_marker("gpu")]
        config.hook.pytest_deselected(items=gpu)
        items[:] = [item for item in items if item not in gpu]
    narrowed = config.getoption("keyword") or config.getoption("markexpr")
    whole_suite = not narrowed and config.args == config.getini("testpaths")
    for tier in ("cpu", "compile"):
        if whole_suite and not any(item.get_closest_marker(tier) for item in items):
            raise pytest.UsageError(f"no {tier} test was selected: a run that checks nothing is no success")

"""An action waits for a module that somebody else imports."""

import sys

import pytest
from kernel_harness.compiled.import_hook import after_import

pytestmark = pytest.mark.cpu


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "awaited_module.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "awaited_module"
    sys.modules.pop("awaited_module", None)


def test_it_runs_once_the_module_is_whole_and_only_once(module):
    seen, before = [], list(sys.meta_path)

    after_import(module, lambda: seen.append(sys.modules[module].value))
    assert seen == []
    __import__(module)
    __import__(module)

    assert seen == [1]
    assert sys.meta_path == before


def test_it_runs_now_when_the_module_is_there(module):
    __import__(module)
    seen = []

    after_import(module, lambda: seen.append(1))

    assert seen == [1]


def test_it_is_called_off(module):
    seen = []

    after_import(module, lambda: seen.append(1))()
    __import__(module)

    assert seen == []

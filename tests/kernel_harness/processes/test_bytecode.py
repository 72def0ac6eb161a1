"""Bytecode of packages that have none is kept, in a folder that nobody else can write."""

import importlib
import os
import sys
from pathlib import Path

import pytest
from kernel_harness.processes import bytecode

pytestmark = pytest.mark.cpu


@pytest.fixture
def image(tmp_path, monkeypatch):
    """An image as built without bytecode: the package, and where its bytecode is kept."""
    package = tmp_path / "site" / "packed_without_bytecode"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setattr(bytecode, "PACKAGES", (package.name,))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delitem(sys.modules, package.name, raising=False)
    yield package, tmp_path / "cache" / "pycache"
    sys.modules.pop(package.name, None)


def imported(package):
    with bytecode.kept():
        return importlib.import_module(package.name)


def kept_files(folder):
    return [path for path in folder.rglob("*.pyc") if "packed_without_bytecode" in str(path)]


def test_what_an_import_compiled_is_read_by_the_next(image):
    package, folder = image
    imported(package)
    (compiled,) = kept_files(folder)
    source = (package / "__init__.py").stat()
    compiled.write_bytes(compiled.read_bytes().replace(b"value", b"other"))  # what is read is what lies there
    del sys.modules[package.name]

    assert imported(package).other == 1
    assert (package / "__init__.py").stat().st_mtime_ns == source.st_mtime_ns
    assert not (package / "__pycache__").exists()


def test_the_interpreter_is_left_as_it_was(image):
    package, _ = image
    imported(package)

    assert (sys.pycache_prefix, sys.dont_write_bytecode) == (None, True)


def test_packages_with_bytecode_are_read_where_they_are(image):
    package, folder = image
    (package / "__pycache__").mkdir()
    imported(package)

    assert not folder.exists()


def test_python_writes_bytecode_itself_where_it_may(image, monkeypatch):
    package, folder = image
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    imported(package)

    assert not folder.exists()
    assert list((package / "__pycache__").iterdir())


def test_a_folder_of_the_users_own_is_used_as_it_is(image, monkeypatch, tmp_path):
    package, folder = image
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "mine"))
    imported(package)

    assert not folder.exists()
    assert sys.pycache_prefix == str(tmp_path / "mine")


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_that_others_can_write_is_not_used(image, mode):
    package, folder = image
    folder.mkdir(parents=True)
    folder.chmod(mode)
    imported(package)

    assert not kept_files(folder)


def test_a_home_that_cannot_be_written_is_no_obstacle(image, monkeypatch):
    package, _ = image
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)

    assert imported(package).value == 1
    assert not Path(os.devnull).is_dir()

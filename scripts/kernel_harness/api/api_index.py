"""Index of the CuTe DSL API, read from the installed wheel's source without importing it (stdlib only).

Importing cutlass takes longer than a look-up should, and some of its modules need libraries that a laptop lacks. The
index is built once per wheel by parsing its Python files and is kept in the user's cache folder.
"""

import dataclasses
import difflib
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from . import api_source

DISTRIBUTION = "nvidia-cutlass-dsl"
# The short spelling that kernels use, for each package that they import under its own name.
SHORT_FORMS = (
    ("cutlass.cute.nvgpu.cpasync.", "cpasync."),
    ("cutlass.cute.nvgpu.warpgroup.", "warpgroup."),
    ("cutlass.cute.nvgpu.tcgen05.", "tcgen05."),
    ("cutlass.cute.nvgpu.warp.", "warp."),
    ("cutlass.cute.", "cute."),
    ("cutlass.pipeline.", "pipeline."),
)


class ApiIndexError(Exception):
    """The wheel is not installed, or it is not laid out as expected."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """One public name. `path` is its shortest public path; `file` is relative to the wheel's cutlass package."""

    path: str
    kind: str  # function, class, method, attribute, value, module
    signature: str
    doc: str
    file: str
    line: int
    deprecated: str = ""


@dataclasses.dataclass
class ApiIndex:
    """All public names of one wheel: entries by path, and every other public path of the same thing."""

    version: str
    root: str
    entries: dict[str, Entry]
    aliases: dict[str, str]

    def find(self, name: str) -> list[Entry]:
        """Entries that `name` means: an exact public path in long or short form, else every path that ends in it."""
        full = expand(name)
        path = full if full in self.entries else self.aliases.get(full)
        if path:
            return [self.entries[path], *self._bound_by(self.entries[path])]
        tail = "." + name
        paths = {path for path in self.entries if path.endswith(tail)}
        paths |= {target for alias, target in self.aliases.items() if alias.endswith(tail)}
        found = [self.entries[path] for path in sorted(paths, key=lambda path: (path.count("."), path))]
        return [also for entry in found for also in (entry, *self._bound_by(entry))]

    def _bound_by(self, entry: Entry) -> list[Entry]:
        """The function whose parameters a ``functools.partial`` takes, such as cute.arch.shuffle_sync's."""
        function = re.match(r"\w+ = partial\((\w+)", entry.signature)
        path = function and f"{entry.path.rpartition('.')[0]}.{function.group(1)}"
        return [self.entries[path]] if path in self.entries else []

    def members(self, entry: Entry) -> list[str]:
        """Names inside a class, in the order of its source: an enum's values, fields, then what may be called."""
        if entry.kind != "class":
            return []
        inner = [e for path, e in self.entries.items() if path.rpartition(".")[0] == entry.path]
        calls = [e.path.rpartition(".")[2] + "()" for e in inner if e.kind == "method"]
        return [e.path.rpartition(".")[2] for e in inner if e.kind != "method"] + calls

    def near(self, name: str, count: int = 6) -> list[str]:
        """Short forms of the existing names that look most like `name`."""
        leaf = name.rsplit(".", 1)[-1]
        leaves: dict[str, str] = {}
        for path in sorted(self.entries, key=lambda path: (path.count("."), len(path))):
            if "experimental" not in path:
                leaves.setdefault(path.rsplit(".", 1)[-1], path)
        close = difflib.get_close_matches(leaf, leaves, n=count, cutoff=0.65)
        holding = [other for other in leaves if len(leaf) > 3 and leaf.lower() in other.lower() and other not in close]
        return [shorten(leaves[other]) for other in (close + sorted(holding, key=len))[:count]]

    def grep(self, word: str) -> list[Entry]:
        """Entries whose path or docstring matches the regular expression `word`; name matches first."""
        pattern = re.compile(word, re.IGNORECASE)
        named = [entry for path, entry in self.entries.items() if pattern.search(path)]
        told = [e for e in self.entries.values() if pattern.search(e.doc) and not pattern.search(e.path)]
        rank = lambda entry: ("experimental" in entry.path, entry.path.count("."), entry.path)
        return sorted(named, key=rank) + sorted(told, key=rank)


def distinct(entries: Iterable[Entry]) -> dict[Entry, list[str]]:
    """The first entry of each definition, with the other paths of the same one: a method that many classes inherit."""
    found: dict[tuple, tuple[Entry, list[str]]] = {}
    for entry in entries:
        _, others = found.setdefault((entry.file, entry.line, entry.signature), (entry, []))
        others.append(entry.path)
    return {entry: paths[1:] for entry, paths in found.values()}


def also_sentence(entry: Entry, paths: Sequence[str], most: int = 8) -> str:
    """Where else the definition of ``entry`` is found."""
    holders = [shorten(path.rpartition(".")[0]) for path in paths]
    rest = f" and {len(holders) - most} others" if len(holders) > most else ""
    return f"{shorten(entry.path)} is also in {', '.join(holders[:most])}{rest}"


def doc_of(entry: Entry, most_lines: int | None) -> str:
    """The docstring, or its first lines and how many more there are."""
    lines = entry.doc.splitlines()
    if most_lines is None or len(lines) <= most_lines:
        return entry.doc
    return "\n".join([*lines[:most_lines], f"... {len(lines) - most_lines} more lines: --full"])


def expand(name: str) -> str:
    """`cute.copy` to `cutlass.cute.copy`; a full path stays as it is."""
    for full, short in SHORT_FORMS:
        if name.startswith(short):
            return full + name[len(short) :]
    return name if name.startswith("cutlass.") or "." not in name else f"cutlass.{name}"


def shorten(path: str) -> str:
    """`cutlass.cute.copy` to `cute.copy`."""
    for full, short in SHORT_FORMS:
        if path.startswith(full):
            return short + path[len(full) :]
    return path


@functools.cache
def _first_releases() -> dict[str, str]:
    listed = json.loads(Path(__file__).with_name("api_since.json").read_text(encoding="utf-8"))
    return {name: release for release, names in listed.items() for name in names}


def since(path: str) -> str | None:
    """The first release that has the name; None when it is as old as 4.0, or not recorded (api_since.json)."""
    return _first_releases().get(shorten(path))


def changes() -> list[dict]:
    """The known removed, renamed, moved and never-existing names, newest first (api_changes.yaml)."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(Path(__file__).with_name("api_changes.yaml").read_text(encoding="utf-8"), Loader=loader)


def changes_of(name: str) -> list[dict]:
    """The changes that name `name`, given in any form (`make_fragment`, `cute.make_fragment`, `__syncthreads`)."""
    leaf = "." + name.rsplit(".", 1)[-1].lstrip("_")
    known = [change for change in changes() if expand(change["name"]) == expand(name)]
    return known or [change for change in changes() if ("." + change["name"]).endswith(leaf)]


def change_sentence(change: dict) -> str:
    """One entry of `changes` as a reader wants it: what became of the name and what to write."""
    fate = {"never": "is in no release", "changed": f"changed in {change.get('since')}"}.get(
        change["change"], f"was {change['change']} in {change.get('since')}"
    )
    note = f" ({change['note']})" if change.get("note") else ""
    return f"{change['name']} {fate}; write {change['use']}{note}"


@functools.cache
def load() -> ApiIndex:
    """The index of the installed wheel, from the cache when that is current. Raises ApiIndexError."""
    root, version = _wheel()
    state = f"{root}:{(root / '__init__.py').stat().st_mtime_ns}:{Path(api_source.__file__).stat().st_mtime_ns}"
    cache = _cache_folder() / f"api-{version}-{hashlib.sha256(state.encode()).hexdigest()[:12]}.json"
    try:
        raw = json.loads(cache.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raw = api_source.build(root)
        _write(cache, raw)
    entries = {path: Entry(path, *values) for path, values in raw["entries"].items()}
    return ApiIndex(version, str(root), entries, raw["aliases"])


def _wheel() -> tuple[Path, str]:
    try:
        version = importlib.metadata.version(DISTRIBUTION)
        spec = importlib.util.find_spec("cutlass")
    except (importlib.metadata.PackageNotFoundError, ImportError):
        spec = None
    if spec is None or not spec.origin:
        raise ApiIndexError(f"{DISTRIBUTION} is not installed here: pip install {DISTRIBUTION}")
    return Path(spec.origin).parent, version


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cute-dsl-kernels"


def _write(cache: Path, raw: dict) -> None:
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        part = cache.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(raw), encoding="utf-8")
        part.replace(cache)
    except OSError:
        pass  # a read-only home costs time, not the answer

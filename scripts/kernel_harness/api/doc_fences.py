"""Run the code blocks of a Markdown page (stdlib only; cutlass is imported in the worker process).

The tag of a block says what must hold:

    ```python            runs, with the first known arch of the compile tier (sm_90a)
    ```python sm_100a    runs, compiled for that arch
    ```python NAME=value runs with that environment variable (the DSL reads its own when it is imported)
    ```python gpu        compiles as Python here; runs where there is a GPU
    ```python jax        compiles as Python here; runs where JAX is installed (a development dependency)
    ```python fails      must raise; the next ```text block is part of what it prints
    ```python kernel     a whole kernel file: verify_kernel.py --compile-only must pass it
    ```text              right after a python block: its exact standard output
    ```console           `$ ` lines are commands whose script, paths and flags exist

A block is written to a real file (the DSL reads kernel source from disk) that is padded with empty lines, so every
line number in a diagnostic is the line number of the page.
"""

import ctypes
import dataclasses
import functools
import importlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

DEFAULT_ARCH = "sm_90a"
LANGUAGES = ("python", "text", "console", "yaml", "json")
MODES = ("gpu", "jax", "fails", "kernel")
# How a page abbreviates a module, as in `from cutlass.cute.nvgpu import cpasync`.
MODULES = {
    "cutlass": "cutlass",
    "cute": "cutlass.cute",
    "pipeline": "cutlass.pipeline",
    "utils": "cutlass.utils",
    "nvgpu": "cutlass.cute.nvgpu",
    "cpasync": "cutlass.cute.nvgpu.cpasync",
    "warp": "cutlass.cute.nvgpu.warp",
    "warpgroup": "cutlass.cute.nvgpu.warpgroup",
    "tcgen05": "cutlass.cute.nvgpu.tcgen05",
    "sm90": "cutlass.utils.sm90",
    "sm100": "cutlass.utils.sm100",
}
DOTTED = re.compile(rf"(?<![\w./@-])(?:{'|'.join(MODULES)})(?:\.[A-Za-z_]\w*)+")
OWN_PATH = re.compile(r"(?<![\w./-])(?:scripts|templates|examples|references|results|tests|evals)/[\w./*-]*[\w*]")
_FENCE = re.compile(r"^(`{3,})(.*)$")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # the DSL colours its diagnostics into a file too
_ARCH = re.compile(r"sm_\d+[af]?$")
_VARIABLE = re.compile(r"[A-Z_]+=\S+$")


@dataclasses.dataclass(frozen=True)
class Fence:
    """One fenced block. `line` is the page's line number of the body's first line."""

    page: Path
    line: int
    language: str
    words: tuple[str, ...]
    body: str

    @property
    def arch(self) -> str:
        return next((word for word in self.words if _ARCH.match(word)), DEFAULT_ARCH)

    @property
    def environment(self) -> tuple[str, ...]:
        """The worker's environment, as NAME=value: fences with equal ones share a process."""
        return (f"CUTE_DSL_ARCH={self.arch}", *sorted(word for word in self.words if _VARIABLE.match(word)))

    @property
    def mode(self) -> str:
        return next((word for word in self.words if word in MODES), "run")

    @property
    def name(self) -> str:
        return f"{self.page.stem}_L{self.line}"


@dataclasses.dataclass(frozen=True)
class Example:
    """A python block and the text block that follows it, if one does."""

    code: Fence
    output: Fence | None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a block did: exit status (negative: killed by that signal), standard output, standard error."""

    status: int
    stdout: str
    stderr: str


def parse(page: Path) -> list[Fence]:
    """All fences of a page, in order. Raises ValueError for a fence without a known tag or without an end."""
    fences, opened, body = [], None, []
    for number, text in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        match = _FENCE.match(text)
        if opened is None:
            if match:
                tag = match.group(2).split()
                if not tag or tag[0] not in LANGUAGES:
                    raise ValueError(f"{page}:{number}: a code block needs one of the tags {', '.join(LANGUAGES)}")
                unknown = [w for w in tag[1:] if w not in MODES and not _ARCH.match(w) and not _VARIABLE.match(w)]
                if unknown:
                    raise ValueError(f"{page}:{number}: unknown word {unknown[0]!r} after {tag[0]!r}")
                opened, body = (match.group(1), number + 1, tag), []
        elif text.startswith(opened[0]) and not text.strip("`"):
            _, line, tag = opened
            fences.append(Fence(page, line, tag[0], tuple(tag[1:]), "\n".join(body) + "\n"))
            opened = None
        else:
            body.append(text)
    if opened:
        raise ValueError(f"{page}:{opened[1] - 1}: this code block is never closed")
    return fences


def examples(page: Path, loose_text: bool = False) -> list[Example]:
    """The python blocks of a page, each with the text block that directly follows it.

    Raises ValueError for a text block that follows no python block, since nothing would check it, unless loose_text.
    """
    lines = page.read_text(encoding="utf-8").splitlines()
    found = []
    for fence in parse(page):
        if fence.language == "python":
            found.append(Example(fence, None))
        elif fence.language == "text":
            last = found[-1] if found else None
            end = last.code.line + last.code.body.count("\n") if last else 0
            between = lines[end : fence.line - 2]
            if last is None or last.output is not None or any(text.strip() for text in between):
                if loose_text:
                    continue
                raise ValueError(f"{page}:{fence.line - 1}: a text block must directly follow a python block")
            found[-1] = Example(last.code, fence)
    return found


def run(fences: list[Fence], seconds: int = 120) -> dict[str, Outcome]:
    """Run fences, each in its own fork of one worker process per environment; returns outcomes by `Fence.name`."""
    groups: dict[tuple[str, ...], list[Fence]] = {}
    for fence in fences:
        groups.setdefault(fence.environment, []).append(fence)
    return {name: outcome for group in groups.values() for name, outcome in _run_group(group, seconds).items()}


def _run_group(fences: list[Fence], seconds: int) -> dict[str, Outcome]:
    with tempfile.TemporaryDirectory(prefix="doc_fences_") as folder:
        jobs = []
        for fence in fences:
            path = Path(folder, f"{fence.name}.py")
            path.write_text("\n" * (fence.line - 1) + fence.body, encoding="utf-8")
            jobs.append({"name": fence.name, "path": str(path), "mode": fence.mode})
        chosen = dict(variable.split("=", 1) for variable in fences[0].environment)
        environment = {**os.environ, **chosen, "PYTHONHASHSEED": "0", "COLUMNS": "110"}
        done = subprocess.run(
            [sys.executable, __file__, folder, str(seconds)],
            input=json.dumps(jobs), capture_output=True, text=True, env=environment, cwd=folder,
            timeout=seconds * (len(jobs) + 1), check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"the block runner itself failed:\n{done.stderr}")
        outcomes = json.loads(Path(folder, "outcomes.json").read_text(encoding="utf-8"))
    return {name: Outcome(**outcome) for name, outcome in outcomes.items()}


def console_problems(fence: Fence, root: Path, help_text) -> list[str]:
    """What is wrong with the `$ ` lines of a console block; `help_text(script)` returns a script's --help."""
    problems = []
    for number, text in enumerate(fence.body.splitlines(), start=fence.line):
        if not text.startswith("$ "):
            continue
        words = [word for word in text[2:].split("#")[0].split() if not re.match(r"[A-Z_]+=", word)]
        scripts = [word for word in words if re.match(r"scripts/\w+\.py$", word)]
        for word in words:
            if OWN_PATH.fullmatch(word) and not list(root.glob(word)):
                problems.append(f"{fence.page.name}:{number}: {word} does not exist")
        for script in scripts:
            if not (root / script).exists():
                continue
            for flag in re.findall(r"(?<!\S)--[a-z][\w-]*", text):
                if not re.search(rf"{flag}(?![\w-])", help_text(root / script)):
                    problems.append(f"{fence.page.name}:{number}: {script} has no flag {flag}")
        if not scripts and words and not shutil.which(words[0]) and words[0] not in _OUTSIDE_PROGRAMS:
            problems.append(f"{fence.page.name}:{number}: unknown program {words[0]}")
    return problems


@functools.cache
def resolves(name: str) -> bool:
    """A dotted name as a page writes it; file names that look like one count as resolved."""
    head, _, rest = name.partition(".")
    return rest.rsplit(".")[-1] in ("py", "md", "so", "o") or importable(f"{MODULES[head]}.{rest}")


def importable(path: str) -> bool:
    """Whether the installed wheel has the full dotted path."""
    parts = path.split(".")
    value = importlib.import_module(parts[0])
    for end, part in enumerate(parts[1:], start=2):
        if not hasattr(value, part):
            try:
                importlib.import_module(".".join(parts[:end]))
            except ImportError:
                return False
        value = getattr(value, part)
    return True


# Programs that a reader has and a build machine need not have.
_OUTSIDE_PROGRAMS = (
    "python", "pip", "npx", "make", "git", "ncu", "nsys", "nvidia-smi", "compute-sanitizer", "cuda-gdb", "nvdisasm",
)  # fmt: skip


def _work(folder: str, seconds: str) -> None:
    import cutlass.cute  # noqa: F401 - once, before the forks

    jobs, outcomes = json.load(sys.stdin), {}
    for job in jobs:
        files = [Path(folder, f"{job['name']}.{stream}") for stream in ("stdout", "stderr")]
        child = os.fork()
        if child == 0:
            _run_one(job, files, int(seconds))
        _, state = os.waitpid(child, 0)
        stdout, stderr = (_COLOUR.sub("", path.read_text(encoding="utf-8", errors="replace")) for path in files)
        outcomes[job["name"]] = {"status": os.waitstatus_to_exitcode(state), "stdout": stdout, "stderr": stderr}
    Path(folder, "outcomes.json").write_text(json.dumps(outcomes), encoding="utf-8")


def _run_one(job: dict, files: list[Path], seconds: int) -> None:
    for descriptor, path in zip((1, 2), files, strict=True):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), descriptor)
    signal.alarm(seconds)
    status = 0
    try:
        if not _can_run(job["mode"]):
            compile(Path(job["path"]).read_text(encoding="utf-8"), job["path"], "exec")
        else:
            spec = importlib.util.spec_from_file_location(job["name"], job["path"])
            module = importlib.util.module_from_spec(spec)
            sys.modules[job["name"]] = module  # the DSL looks a kernel's module up by name
            spec.loader.exec_module(module)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)  # printf of compiled host code goes through C's own buffer
    os._exit(status)


def _can_run(mode: str) -> bool:
    if mode == "gpu":
        import torch

        return torch.cuda.is_available()
    return mode != "jax" or importlib.util.find_spec("jax") is not None


if __name__ == "__main__":
    _work(*sys.argv[1:])

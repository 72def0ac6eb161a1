"""Who looks outside? An audit hook that reports what the kernel file's own code asks of the interpreter and of /proc.

CPython raises audit events that Python code cannot suppress. Only events whose nearest caller outside the standard
library is the kernel file count: torch, Triton and CuTe DSL walk frames and read /proc for reasons of their own. Each
report leaves the process at once, and nothing but the interpreter holds the hook: there is no switch to find.
"""

from __future__ import annotations

import _thread
import os
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

INTROSPECTION = {
    "sys._getframe": "walks the caller's frames",
    "sys._getframemodulename": "asks for the caller's module",
    "sys._current_frames": "walks the frames of all threads",
    "sys._current_exceptions": "walks the frames of all threads",
    "sys.setprofile": "has itself handed the frames of every call",
    "sys.settrace": "has itself handed the frames of every call",
    "gc.get_objects": "lists all objects of the process",
    "gc.get_referrers": "lists the referrers of objects",
    "gc.get_referents": "lists what objects refer to",
    "ptrace": "traces a process",
}
FRAMES = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")
# Programs that show other processes, their arguments or their memory.
PROCESS_VIEWERS = {"ps", "pgrep", "pidof", "pstree", "top", "htop", "lsof", "fuser", "gdb", "strace", "ltrace"}
# Parts of the standard library that look one frame up for reasons that have nothing to do with who calls a kernel.
BENIGN = (
    "warnings.py",
    "logging/__init__.py",
    "typing.py",
    "collections/__init__.py",
    "dataclasses.py",
    "enum.py",
    "functools.py",
    "contextlib.py",
    "abc.py",
    "unittest/mock.py",
)
# Below /proc these belong to whoever asks; everything else there is somebody else's, or memory.
HARMLESS_PROC = (
    "cpuinfo",
    "meminfo",
    "stat",
    "loadavg",
    "version",
    "uptime",
    "sys",
    "driver",
    "self/status",
    "self/stat",
    "self/maps",
    "self/task",
    "self/cgroup",
    "self/mountinfo",
    "mounts",
    "self/mounts",
    "filesystems",
    "devices",
    "modules",
)


def watch(path: Path, private: tuple[Path, ...], report: Callable[[str], None], package: str = "") -> None:
    """Call ``report(text)`` at each look outside by the code of the file at ``path``, from now on.

    private: folders that the file has no business in. package: the name of the package that calls the file; its own
    modules, as they are now, are not the file's. There is one hook a process; it cannot be removed.
    """
    file, folder = str(path), f"{path.parent}{os.sep}"
    inside = tuple(str(p) for p in private)
    standard = f"{sysconfig.get_paths()['stdlib']}{os.sep}"
    ours = {id(vars(m)) for name, m in sys.modules.items() if package and name.partition(".")[0] == package}
    introspection, viewers, benign, harmless = dict(INTROSPECTION), frozenset(PROCESS_VIEWERS), BENIGN, HARMLESS_PROC
    get_frame, thread, busy, real = sys._getframe, _thread.get_ident, set(), {}
    is_file, decode, own_process, tidy = os.path.isfile, os.fsdecode, os.getpid(), os.path.normpath
    writing = os.O_WRONLY | os.O_RDWR

    def hook(event: str, arguments: tuple) -> None:
        text = introspection.get(event)
        if text is None:
            if event == "object.__getattr__":
                text = f"takes a frame from {arguments[1]}" if arguments[1] in FRAMES else None
            elif event in ("open", "os.listdir", "os.scandir"):
                named = arguments and isinstance(arguments[0], (str, bytes))
                writes = event == "open" and arguments[2] & writing
                text = path_text(decode(arguments[0]), event, bool(writes)) if named else None
            elif event in ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.system"):
                text = program_text(arguments)
        me = thread()
        if text is None or me in busy:
            return
        busy.add(me)  # what follows raises events itself
        try:
            if is_authors(get_frame(1)):
                report(text)
        finally:
            busy.discard(me)

    def path_text(name: str, event: str, writes: bool) -> str | None:
        name = tidy(name)  # //proc and self/task/../.. lead there, too
        name = name[1:] if name.startswith("//") else name
        if writes and name == file:
            return "writes to its own file"
        if name.startswith("/proc"):
            entry = name.removeprefix("/proc").strip("/").replace(str(own_process), "self", 1)
            return None if entry.startswith(harmless) else f"reads {name}"
        if name.startswith(inside):
            return "looks into the harness's own folders"
        if event != "open" and name.rstrip("/") in ("/tmp", "/dev/shm", "/var/tmp"):
            return f"lists {name}"
        return None

    def program_text(arguments: tuple) -> str | None:
        words = arguments[0], *(arguments[1] if len(arguments) > 1 and isinstance(arguments[1], (list, tuple)) else ())
        names = {str(decode(w) if isinstance(w, bytes) else w).split(" ")[0].rpartition("/")[2] for w in words[:2]}
        return f"runs {min(names & viewers)}" if names & viewers else None

    def is_authors(frame) -> bool:
        first = frame.f_code.co_filename
        if first.endswith(benign) and first.startswith(standard):
            # Logging looks for its caller by itself; a file that asks logging for a frame or its place is the caller.
            asked = None
            while frame is not None and frame.f_code.co_filename == first:
                asked, frame = frame.f_code.co_name, frame.f_back
            is_question = first.endswith("logging/__init__.py") and asked in ("<lambda>", "currentframe", "findCaller")
            return is_question and frame is not None and frame.f_code.co_filename == file
        while frame is not None:
            name = frame.f_code.co_filename
            if id(frame.f_globals) in ours:
                return False
            packaged = "site-packages" in name or "dist-packages" in name
            if name == file or (name.startswith(folder) and not packaged):
                return True
            if name not in real:
                real[name] = is_file(name)
            # What was compiled from a string belongs to whoever runs it.
            if packaged or (real[name] and not name.startswith(standard)):
                return False
            frame = frame.f_back
        return False

    sys.addaudithook(hook)

"""Who looks outside? An audit hook that notes what the kernel file's own code asks of the interpreter and of /proc.

CPython raises audit events that Python code cannot suppress. Only events whose nearest caller outside the standard
library is the kernel file count: torch, Triton and CuTe DSL walk frames and read /proc for reasons of their own.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

INTROSPECTION = {
    "sys._getframe": "walks the caller's frames",
    "sys._current_frames": "walks the frames of all threads",
    "gc.get_objects": "lists all objects of the process",
    "gc.get_referrers": "lists the referrers of objects",
    "ptrace": "traces a process",
}
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


class Watch:
    """Collects what the file at ``path`` does between start() and stop(); one a process, it cannot be removed."""

    def __init__(self, path: Path, private: tuple[Path, ...]):
        self.file = str(path)
        self.private = tuple(str(p) for p in private)
        self.library = tuple(p for p in (sysconfig.get_paths()["stdlib"], "<frozen", "<string>"))
        self.site = ("site-packages", "dist-packages")
        self.active = False
        self.seen: list[str] = []
        self._frame = sys._getframe
        sys.addaudithook(self._hook)

    def start(self) -> None:
        self.seen, self.active = [], True

    def stop(self) -> list[str]:
        self.active = False
        return sorted(set(self.seen))

    def _hook(self, event: str, arguments: tuple) -> None:
        if not self.active:
            return
        text = INTROSPECTION.get(event)
        if event == "object.__getattr__" and arguments[1] in ("tb_frame", "gi_frame", "cr_frame", "ag_frame"):
            text = f"takes a frame from {arguments[1]}"
        if event in ("open", "os.listdir", "os.scandir") and arguments and isinstance(arguments[0], (str, bytes)):
            text = self._path_text(os.fsdecode(arguments[0]), event)
        if text is None:
            return
        self.active = False  # what follows may raise events itself
        try:
            if self._is_authors(2):
                self.seen.append(text)
        finally:
            self.active = True

    def _path_text(self, path: str, event: str) -> str | None:
        if path.startswith("/proc"):
            inside = path.removeprefix("/proc").strip("/").replace(str(os.getpid()), "self", 1)
            return None if inside.startswith(HARMLESS_PROC) else f"reads {path}"
        if any(path.startswith(folder) for folder in self.private):
            return "looks into the harness's own folders"
        if event != "open" and path.rstrip("/") in ("/tmp", "/dev/shm", "/var/tmp"):
            return f"lists {path}"
        return None

    def _is_authors(self, depth: int) -> bool:
        frame = self._frame(depth)
        if frame is not None and frame.f_code.co_filename.endswith(BENIGN):
            # Logging looks for its caller by itself; a file that asks logging for a frame is the caller.
            asked_directly = frame.f_back is not None and frame.f_back.f_code.co_filename == self.file
            return (
                asked_directly
                and "currentframe" in dir(sys.modules.get("logging"))
                and frame.f_code.co_filename.endswith("logging/__init__.py")
                and frame.f_code.co_name in ("<lambda>", "currentframe")
            )
        while frame is not None:
            name = frame.f_code.co_filename
            if name == self.file:
                return True
            standard = name.startswith(self.library) and not any(part in name for part in self.site)
            if not standard:
                return False
            frame = frame.f_back
        return False

"""What every script's command line shares (standard library only)."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .contract import KNOWN_ARCHS, ContractError
from .verdict import ExitCode, epilog

FORMATS = ("auto", "table", "plain", "json")


class UsageError(Exception):
    """The command line asks for something impossible; ``str(error)`` is one sentence that says what to do."""


class UndecidedError(Exception):
    """This machine lacks something that the answer needs (a GPU, a package, a tool); the sentence says what."""


def no_such_case(name: str, file: Path, known: Sequence[str]) -> UsageError:
    """Names are quoted: one may have commas and blanks."""
    return UsageError(f"--case {name!r}: no such case; {file} has {', '.join(map(repr, known))}")


def parser(doc: str, **keywords) -> argparse.ArgumentParser:
    """A parser whose description is the script's docstring and whose epilog lists the exit codes."""
    return argparse.ArgumentParser(description=doc.strip(), epilog=epilog(),
                                   formatter_class=argparse.RawDescriptionHelpFormatter, **keywords)


def add_output(arguments: argparse.ArgumentParser) -> None:
    """``--format`` and ``-o``, the same in every script."""
    group = arguments.add_argument_group("output")
    group.add_argument("--format", choices=FORMATS, default="auto",
                       help="table on a terminal, else plain key=value lines (auto); json is one object")
    group.add_argument("-o", "--output", metavar="FILE", type=Path,
                       help="also write the JSON object to FILE (a file that exists is replaced only on success)")


def check_output(output: Path | None, option: str = "-o") -> None:
    """UsageError before any work when the file of ``option`` could not be written at the end."""
    if output is None:
        return
    try:
        path = output.expanduser().resolve()  # through a link, as report.emit() writes
        if path.is_symlink():  # Python before 3.13 raises RuntimeError
            raise RuntimeError("a loop of links")
        if path.is_dir():
            raise UsageError(f"{option} {output} is a folder; name a file in it")
        if path.suffix == ".py":
            raise UsageError(f"{option} {output}: the result would take the place of a Python file; name another file")
        if path.exists() and not path.is_file():
            return  # a device or a pipe, /dev/stdout for one: its folder need not be writable
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{option} {output} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    if not path.parent.is_dir():
        raise UsageError(f"{option} {output}: there is no folder {path.parent}; create it first")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{option} {output}: the folder {path.parent} is not writable")


def require(package: str) -> None:
    """UndecidedError where this interpreter lacks what a script needs."""
    if importlib.util.find_spec(package) is None:
        raise UndecidedError(f"{sys.executable} has no package {package}: use the Python of the environment that "
                             "`make demo` sets up, .venv/bin/python, or pip install what pyproject.toml lists")


def positive(kind: type = int) -> Callable[[str], float]:
    """An argparse type: a number greater than zero."""

    def convert(text: str):
        value = kind(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not a positive number")
        return value

    convert.__name__ = kind.__name__   # argparse names it in its message
    return convert


class _Ended(KeyboardInterrupt):
    """Another process asks this one to end; ``args`` is the signal's number."""


@contextlib.contextmanager
def _cleaning_up() -> Iterator[None]:
    """SIGTERM and SIGHUP end the script as Ctrl-C does: it still kills its workers and removes their folders.

    ``timeout`` and schedulers send SIGTERM. Left to its default, it would leave behind whatever a kernel file has
    started, and gigabytes of tensors in /dev/shm.
    """

    def end(number, _frame):
        signal.signal(number, signal.SIG_IGN)  # `timeout` sends it twice; the second must not stop the cleaning up
        raise _Ended(number)

    default = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_DFL]  # nohup ignores one
    for number in default:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in default:
            signal.signal(number, signal.SIG_DFL)


def arch(text: str) -> str:
    """An argparse type: a compile target."""
    if text not in KNOWN_ARCHS:
        raise argparse.ArgumentTypeError(f"{text!r} is no compile target; known are {', '.join(KNOWN_ARCHS)}")
    return text


def scripts_folder() -> Path:
    """The scripts' folder as it is named from the current one."""
    scripts = Path(__file__).resolve().parents[1]
    return Path(scripts.name) if Path.cwd().resolve() == scripts.parent else scripts


def command(script: str, *arguments) -> str:
    """The command line of another script, as it can be typed in the current folder."""
    return shlex.join(["python", str(scripts_folder() / script), *map(str, arguments)])


def run(main: Callable[[], ExitCode]) -> int:
    """Run ``main`` and turn what it raises into one sentence on stderr and the right exit code.

    An unexpected exception keeps its traceback, under a sentence that says that it is a defect of the script.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a file's name may have letters that the terminal's encoding has not
            stream.reconfigure(errors="backslashreplace")
    try:
        with _cleaning_up():
            return int(main())
    except UsageError as error:
        return _fail(ExitCode.USAGE, str(error))
    except ContractError as error:
        return _fail(ExitCode.CONTRACT, str(error), error.detail)
    except UndecidedError as error:
        return _fail(ExitCode.UNDECIDED, str(error))
    except _Ended as error:
        print(f"ended by {signal.Signals(*error.args).name}", file=sys.stderr)
        return 128 + error.args[0]
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The reader went away (`| head`): nobody is left to tell; keep the interpreter from failing at exit too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except Exception:
        traceback.print_exc()
        return _fail(ExitCode.CRASH, "the script itself failed; this is a defect of the script, not of your kernel")


def _fail(code: ExitCode, sentence: str, detail: str = "") -> int:
    print(f"error: {sentence}", file=sys.stderr)
    if detail:
        print(detail, file=sys.stderr)
    return int(code)

"""One result, three forms: a table for people, ``key=value`` lines for pipes, JSON for programs.

The only module that imports rich. A script hands over a :class:`Report`; nothing else prints data.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .cli import UsageError
from .verdict import ExitCode


@dataclass(frozen=True)
class Table:
    """Rows under named columns. Cells are str, int, float, bool or None; numbers are right-aligned."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence]
    key: str = ""  # the first word of each plain line; defaults to the first column's name


@dataclass(frozen=True)
class Report:
    """What a script found. ``document`` is the JSON object; the rest is how people read it."""

    tool: str
    verdict: str  # one word or two, such as PASS or "WRONG RESULT"
    exit_code: ExitCode
    document: Mapping
    summary: Mapping = field(default_factory=dict)  # facts of the verdict line
    tables: Sequence[Table] = ()
    findings: Sequence[str] = ()  # paragraphs: what was seen, why it matters, what to do
    notes: Sequence[str] = ()  # advice that decides nothing
    next_steps: Sequence[str] = ()


def emit(report: Report, format: str = "auto", output: Path | None = None) -> ExitCode:
    """Write ``report`` to stdout in ``format`` and, as JSON, to ``output``; returns the report's exit code.

    Raises UsageError when ``output`` cannot be written, but not before stdout has the report.
    """
    unwritten = _write(output.expanduser(), _json(report) + "\n") if output is not None else ""
    chosen = format
    if format == "auto":
        chosen = "table" if sys.stdout.isatty() and _rich_is_there() else "plain"
    if chosen == "table" and not _rich_is_there():
        print("note: --format table needs the package rich; writing plain lines", file=sys.stderr)
        chosen = "plain"
    if chosen == "json":
        print(_json(report))
    elif chosen == "plain":
        print(plain(report))
    else:
        _print_table(report)
    sys.stdout.flush()
    if unwritten:
        raise UsageError(f"-o {output} could not be written: {unwritten}")
    return report.exit_code


def plain(report: Report) -> str:
    """One record a line, no alignment, no clipping; the verdict is the last line."""
    lines = []
    for table in report.tables:
        for row in table.rows:
            first = table.key or table.columns[0]
            pairs = [
                f"{_slug(name)}={_plain_cell(cell)}"
                for name, cell in zip(table.columns, row, strict=True)
                if cell is not None
            ]
            lines.append(" ".join([_slug(first).upper(), *pairs]))
    lines += [f"FINDING {text}" for text in report.findings]
    lines += [f"NOTE {text}" for text in report.notes]
    lines += [f"NEXT {text}" for text in report.next_steps]
    pairs = [f"{key}={_plain_cell(value)}" for key, value in report.summary.items() if value is not None]
    lines.append(
        " ".join(["VERDICT", f"verdict={_plain_cell(report.verdict)}", f"exit_code={int(report.exit_code)}", *pairs])
    )
    return "\n".join(lines)


class Progress:
    """A counter on stderr while something long runs: a line that changes on a terminal, in a log one now and then."""

    EVERY_S = 15.0  # a log that is silent for long looks like a hang to who, or what, reads it

    def __init__(self, total: int | None = None):
        self.total, self.done, self.shown = total, 0, sys.stderr.isatty()
        self.started = self.told = time.monotonic()

    def step(self, text: str) -> None:
        self.done += 1
        count, now = f"[{self.done}/{self.total}] " if self.total else "", time.monotonic()
        if self.shown:
            print(f"\r\033[K{count}{text[:100]}", end="", file=sys.stderr, flush=True)
        elif now - self.told >= self.EVERY_S:
            self.told = now
            print(f"[{now - self.started:.0f} s] {count}{text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.shown and self.done:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _json(report: Report) -> str:
    head = {"schema": 1, "tool": report.tool, "verdict": report.verdict, "exit_code": int(report.exit_code)}
    tail = {"findings": list(report.findings), "notes": list(report.notes)}
    return json.dumps(_finite({**head, **report.document, **tail}), indent=1, default=str, allow_nan=False)


def _finite(value):
    """JSON has no NaN and no infinity: they become strings, so that the object stays valid."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_finite(item) for item in value]
    return value


def _write(path: Path, text: str) -> str:
    """Write through a temporary file beside ``path``, so that a failure leaves what was there; why it failed, or "".

    A link stays one, and a device or a pipe is written to: renaming a file onto /dev/null would take it from everyone.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text)
            return ""
        path = path.resolve()
        temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            temporary.write_text(text)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def number(value: float) -> str:
    """Four significant digits without a needless exponent: 0.000123, 12.34, 1235000."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e7:
        digits = max(0, 3 - math.floor(math.log10(abs(value))))
        return f"{value:.{digits}f}"
    return f"{value:.3e}"


def _cell(value) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, float) else str(value)


def _plain_cell(value) -> str:
    text = _cell(value)
    return json.dumps(text) if any(c.isspace() or c in '"=' for c in text) or not text else text


def _slug(name: str) -> str:
    return name.strip().replace(" ", "_").replace("/", "_per_")


def _rich_is_there() -> bool:
    from importlib.util import find_spec

    return find_spec("rich") is not None


def _print_table(report: Report) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(highlight=False)
    for table in report.tables:
        grid = RichTable(title=table.title or None, box=box.SIMPLE_HEAD, title_justify="left")
        for index, column in enumerate(table.columns):
            numeric = any(
                isinstance(row[index], (int, float)) and not isinstance(row[index], bool) for row in table.rows
            )
            grid.add_column(column, justify="right" if numeric else "left", overflow="fold")
        for row in table.rows:
            grid.add_row(*(Text(_cell(cell)) for cell in row))
        console.print(grid)
    for text in report.findings:
        console.print(Text(f"✗ {text}", style="red"), soft_wrap=True)
    for text in report.notes:
        console.print(Text(f"note: {text}"), soft_wrap=True)
    facts = "  ".join(f"{key}={_cell(value)}" for key, value in report.summary.items() if value is not None)
    style = {ExitCode.PASS: "bold green", ExitCode.UNDECIDED: "bold yellow"}.get(report.exit_code, "bold red")
    console.print(Text.assemble((report.verdict, style), f"  {facts}"), soft_wrap=True)
    for text in report.next_steps:
        console.print(Text(f"Next: {text}"), soft_wrap=True)

"""Look a CuTe DSL name up in the installed wheel: signature, docstring, source line.

  python scripts/lookup_api.py cute.copy cute.where      names, in short or full form
  python scripts/lookup_api.py make_tiled_copy_tv        a bare name: every place that has it
  python scripts/lookup_api.py cute.make_fragment        a removed name: since when, and what to write instead
  python scripts/lookup_api.py --grep multicast          names and docstrings that match a regular expression

The answer comes from the wheel's source, which is parsed once per wheel and cached; cutlass is not imported.
Exit code 1: the installed wheel has no such name.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # works from a copied folder, under -P and -I

from kernel_harness import cli
from kernel_harness.api import api_index
from kernel_harness.verdict import ExitCode

DOC_LINES = 40


def main(argv: list[str] | None = None) -> ExitCode:
    parser = cli.parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="names such as cute.copy, cpasync.tma_partition")
    parser.add_argument("--grep", metavar="WORD", help="list names and docstrings that match this regular expression")
    parser.add_argument("--limit", type=cli.positive(), default=30, help="how many names to list (30)")
    parser.add_argument("--full", action="store_true", help=f"whole docstrings, not their first {DOC_LINES} lines")
    cli.add_output(parser)
    options = parser.parse_args(argv)
    if bool(options.names) == bool(options.grep):
        raise cli.UsageError("give either a NAME or --grep WORD")
    if len(options.names) > 1 and (options.output or options.format == "json"):
        raise cli.UsageError("a document is of one NAME: ask for one at a time with -o or --format json")
    names = [_name(text) for text in options.names] or [None]
    cli.check_output(options.output)
    try:
        index = api_index.load()
    except api_index.ApiIndexError as error:
        raise cli.UndecidedError(str(error)) from error
    find = index.find if options.names else lambda _: _grep(index, options)
    return max(_report(index, options, name, find(name)) for name in names)


def _name(text: str) -> str:
    """The dotted name in what was typed (`cute.copy(` is a name, two words are none). Raises UsageError."""
    name = text.split("(")[0].strip(" .")
    if not name.replace(".", "_").isidentifier() or ".." in name:
        raise cli.UsageError(f"{text!r} is no API name such as cute.copy; --grep WORD searches in names and docstrings")
    return name


def _grep(index, options):
    try:
        return index.grep(options.grep)
    except re.error as error:
        raise cli.UsageError(f"--grep {options.grep}: not a regular expression ({error})") from error


def _report(index, options, name: str | None, found) -> ExitCode:
    from kernel_harness.report import Report, Table, emit

    changes = [] if options.grep else api_index.changes_of(name)
    exact = not name or any(entry.path.endswith("." + name.rsplit(".")[-1]) for entry in found)
    near = [] if options.grep or (found and exact) else index.near(name)
    alike = api_index.distinct(found)
    shown, most_lines = list(alike)[: options.limit], None if options.full else DOC_LINES
    notes = [api_index.change_sentence(change) for change in changes]
    if name:
        notes += [f"{api_index.shorten(e.path)}: {api_index.doc_of(e, most_lines)}" for e in shown[:3] if e.doc]
    members = {e: index.members(e) for e in (shown[:3] if name else [])}
    notes += [f"{api_index.shorten(e.path)} has {', '.join(inner)}" for e, inner in members.items() if inner]
    notes += [api_index.also_sentence(entry, alike[entry]) for entry in shown if alike[entry]]
    if near:
        notes.append(f"similar names: {', '.join(near)}")
    if len(alike) > len(shown):
        notes.append(f"{len(alike) - len(shown)} more; narrow the search or raise --limit")
    columns = ("name", "kind", "signature", "source", "since", "deprecated")
    names = [(api_index.shorten(e.path), e.kind, e.signature, f"{e.file}:{e.line}") for e in shown]
    rows = [(*cells, api_index.since(e.path), e.deprecated or None) for cells, e in zip(names, shown, strict=True)]
    document = {"query": name or options.grep, "version": index.version, "root": index.root,
                "total": len(found), "changes": changes, "near": near}  # fmt: skip
    document["found"] = [{**vars(e), "name": row[0], "since": row[4], "members": members.get(e, [])}
                         for e, row in zip(shown, rows, strict=True)]  # fmt: skip
    report = Report(
        tool="lookup_api",
        verdict="FOUND" if found else "NOT FOUND",
        exit_code=ExitCode.PASS if found else ExitCode.WRONG_RESULT,
        document=document,
        summary={"names": len(found), api_index.DISTRIBUTION: index.version, "sources_under": index.root},
        tables=[Table("", columns, rows)] if rows else [],
        notes=notes,
    )
    return emit(report, options.format, options.output)


if __name__ == "__main__":
    raise SystemExit(cli.run(main))

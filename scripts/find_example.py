"""Find the CuTe DSL example that is closest to a task, this project's or NVIDIA's; check the index against a checkout.

  python scripts/find_example.py --op gemm --arch sm_90a         examples of an operation for an arch
  python scripts/find_example.py topk                            by what they teach, this project's own first
  python scripts/find_example.py ampere/elementwise_add.py       where a path of an older release is now
  python scripts/find_example.py --learning-path A               an ordered path, each step with its question
  python scripts/find_example.py --check /path/to/cutlass        are all indexed paths in this checkout?

Reads scripts/kernel_harness/api/nvidia_examples.yaml; nothing is downloaded. Exit code 1: nothing found, or --check
found a difference.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # works from a copied folder, under -P and -I

from kernel_harness import cli
from kernel_harness.api import nvidia_examples, own_examples
from kernel_harness.verdict import ExitCode

NOT_FOUND = "the index has no such line, though an example may: try --op, examples/README.md, references/recipes.md"


def main(argv: list[str] | None = None) -> ExitCode:
    parser = cli.parser(__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="parts of a path (old ones, too) or of what is taught")
    parser.add_argument("--op", help="operation or topic: gemm, attention, mla, norm, epilogue, tma, pdl, ...")
    parser.add_argument("--arch", help="sm_80, sm_90a, sm_100a, sm_103a, sm_120a")
    parser.add_argument("--learning-path", metavar="NAME", help="A basics, B attention and MLA, C advanced, H Hopper")
    parser.add_argument("--check", metavar="PATH", type=Path, help="a checkout or bare clone of NVIDIA/cutlass")
    cli.add_output(parser)
    options = parser.parse_args(argv)
    options.words = " ".join(options.words).split()  # a quoted phrase is words, too
    cli.check_output(options.output)
    cli.require("yaml")
    sought = options.words or options.op or options.arch
    if alone := _check if options.check else _learning_path if options.learning_path else None:
        if sought:
            raise cli.UsageError("--check and --learning-path go alone: leave WORD, --op and --arch out")
        return alone(options)
    if not sought:
        raise cli.UsageError(f"say a WORD, --op or --arch; operations are {', '.join(nvidia_examples.operations())}")
    options.op, options.arch = _operation(options), _arch(options.arch)
    found = nvidia_examples.find(options.words, options.op, options.arch)
    own = own_examples.find(options.words)
    rows = [(path, "", "own", learn) for path, learn in own]
    rows += [(nvidia_examples.url(e["path"]), " ".join(e["archs"]), " ".join(e["ops"]), e["learn"]) for e in found]
    return _emit(options, rows, ("example", "archs", "operations", "teaches"), {"own": own, "examples": found})


def _operation(options) -> str | None:
    known, op = nvidia_examples.operations(), (options.op or "").lower()
    if op and op not in known:
        if not own_examples.find([op]):
            near = "".join(f"try --op {name}; " for name in known if name in op)
            raise cli.UsageError(f"--op {op}: {near}examples are filed under {', '.join(known)}; a WORD searches all")
        options.words.append(op)
    return op if op in known else None


def _arch(arch: str | None) -> str | None:
    """`sm_90a` from sm_90a, sm90a or 90a."""
    match = re.fullmatch(r"(?:sm_?)?(\d+[af]?)", arch.lower()) if arch else None
    known = nvidia_examples.archs()
    if arch and (not match or not any(name.rstrip("af") == f"sm_{match[1]}".rstrip("af") for name in known)):
        raise cli.UsageError(f"--arch {arch}: there are examples for {', '.join(known)}")
    return f"sm_{match[1]}" if match else None


def _learning_path(options) -> ExitCode:
    paths = nvidia_examples.load()["learning_paths"]
    if options.learning_path.upper() not in paths:
        raise cli.UsageError(f"--learning-path is one of {', '.join(paths)}")
    path = paths[options.learning_path.upper()]
    rows = [(n, nvidia_examples.url(step["path"]), step["question"]) for n, step in enumerate(path["steps"], start=1)]
    return _emit(options, rows, ("step", "example", "question"), {"learning_path": path})


def _check(options) -> ExitCode:
    try:
        rows = nvidia_examples.differences(options.check)
    except ValueError as error:
        raise cli.UsageError(f"--check {error}") from error
    return _emit(options, rows, ("path", "problem"), {"differences": rows}, wanted=False)


def _emit(options, rows: list, columns: tuple, document: dict, wanted: bool = True) -> ExitCode:
    from kernel_harness.report import Report, Table, emit

    verdict = ("FOUND" if rows else "NOT FOUND") if wanted else ("DIFFERENT" if rows else "SAME")
    notes, tables = [NOT_FOUND] if wanted and not rows else [], [Table("", columns, rows)] if rows else []
    code = ExitCode.PASS if bool(rows) == wanted else ExitCode.WRONG_RESULT
    report = Report("find_example", verdict, code, document, {"rows": len(rows)}, tables, notes=notes)
    return emit(report, options.format, options.output)


if __name__ == "__main__":
    raise SystemExit(cli.run(main))

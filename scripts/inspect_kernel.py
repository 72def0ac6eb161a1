#!/usr/bin/env python3
"""What did the compiler make of this kernel? Compile it for any GPU, on any machine, and read the PTX and SASS.

  python scripts/inspect_kernel.py kernel.py                        every arch of the file, its first case
  python scripts/inspect_kernel.py kernel.py --arch sm_90a --all-cases
  python scripts/inspect_kernel.py kernel.py --case 4096x4096       a case of BENCH_CASES: the tile that will be timed
  python scripts/inspect_kernel.py kernel.py --diff before.py       what an edit changed
  python scripts/inspect_kernel.py kernel.py --source build/        keep the PTX, cubin and SASS

No GPU and no export are needed: kernel_fn runs on a stand-in that records what is compiled and launched. Widths of
global accesses, the bytes of loads that a thread has in flight at most, tensor-core, TMA and local-memory instructions,
registers, spills and their source lines, shared memory, occupancy on named GPUs; EXPECT is checked, and 16-byte aligned
inputs that are read one element at a time are named.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # works from a copied folder, through a link, -P and -I

from kernel_harness import cli, contract
from kernel_harness.verdict import ExitCode


def parse(argv: list[str] | None):
    parser = cli.parser(__doc__)
    parser.add_argument("kernel", type=Path, metavar="KERNEL.py")
    parser.add_argument(
        "--arch", nargs="+", type=cli.arch, default=[], metavar="ARCH",
        help="compile targets (default: the file's ARCHS)",
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--case", action="append", default=[], metavar="NAME",
        help="this case of TEST_CASES or BENCH_CASES instead of the first (repeatable)",
    )
    group.add_argument("--all-cases", action="store_true", help="every case of TEST_CASES")
    parser.add_argument("--diff", type=Path, metavar="OTHER.py", help="show the facts that differ from OTHER.py's")
    parser.add_argument("--source", type=Path, metavar="FOLDER", help="keep PTX, cubin and SASS in FOLDER")
    parser.add_argument(
        "--timeout", type=cli.positive(float), default=120.0, metavar="S", help="seconds a case (default 120)"
    )
    cli.add_output(parser)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> ExitCode:
    options = parse(argv)
    cli.check_output(options.output)
    for path in filter(None, (options.kernel, options.diff)):
        contract.read_source(path)
    if options.source:
        try:
            if options.source.exists() and not options.source.is_dir():
                raise cli.UsageError(f"--source {options.source} is a file; name a folder")
            options.source.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cli.UsageError(f"--source {options.source} cannot be a folder: {error.strerror}") from None
    cli.require("torch")
    from kernel_harness import report
    from kernel_harness.compiled import capture, inspection

    cases = () if options.all_cases else tuple(options.case) or capture.FIRST
    progress = report.Progress()
    try:
        result = inspection.inspect(options.kernel, options.arch, cases, options.timeout, options.source, progress.step)
        if options.diff:
            other = inspection.inspect(options.diff, options.arch, cases, options.timeout, None, progress.step)
            difference = inspection.compare(result, other)
            compared = result.document["kernels"] and other.document["kernels"] and not difference.rows
            same = [f"no fact of {options.kernel.name} differs from {options.diff.name}'s"] if compared else []
            result = replace(
                result,
                tables=[*result.tables, difference],
                findings=[*result.findings, *other.findings],
                notes=[*result.notes, *same],
                document={**result.document, "difference": difference.rows, "other": other.document["kernels"]},
            )
    finally:
        progress.close()
    return report.emit(result, options.format, options.output)


if __name__ == "__main__":
    raise SystemExit(cli.run(main))

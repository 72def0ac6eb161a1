#!/usr/bin/env python3
"""Is this kernel right? Verify kernel_fn against reference_fn, beyond doubt.

  python scripts/verify_kernel.py kernel.py                     the default level, every case
  python scripts/verify_kernel.py kernel.py --level quick       an agent's inner loop
  python scripts/verify_kernel.py kernel.py --compile-only      no GPU: compile and check instruction facts

The file exports kernel_fn(*inputs), reference_fn(*inputs) and get_inputs() -> list (references/kernel-file.md).
Each runs in a process of its own; the judge never imports the file. Without a GPU the file is compiled and its small
cases run in a simulator: SIMULATED (exit code 0), or COMPILED, NOT RUN (6) where nothing could be simulated.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # works from a copied folder, through a link, -P and -I

from kernel_harness import cli, contract
from kernel_harness.verdict import ExitCode


def parse(argv: list[str] | None):
    parser = cli.parser(__doc__)
    parser.add_argument("kernel", type=Path, metavar="KERNEL.py", help="the kernel file")
    parser.add_argument("--reference", type=Path, metavar="OTHER.py", help="take reference_fn from this file")
    parser.add_argument(
        "--level", choices=("quick", "full", "paranoid"), default="full", help="how many trials (default full)"
    )
    parser.add_argument("--case", action="append", default=[], metavar="NAME", help="only this case (repeatable)")
    parser.add_argument(
        "--seeds", type=cli.positive(int), metavar="N", help="input sets of get_inputs a case (in the simulator one)"
    )
    parser.add_argument(
        "--rtol", type=float, help="with --atol: accept |y - ref| <= atol + rtol |ref| instead of the rule"
    )
    parser.add_argument("--atol", type=float, help="with --rtol")
    parser.add_argument(
        "--timeout",
        type=cli.positive(float),
        default=120.0,
        metavar="S",
        help="seconds for each step of the file's own code (default 120)",
    )
    parser.add_argument("--compile-only", action="store_true", help="compile and check EXPECT, run nothing")
    parser.add_argument(
        "--arch",
        nargs="+",
        type=cli.arch,
        default=[],
        metavar="ARCH",
        help="what is compiled and simulated, for example sm_90a; a GPU that is there runs its own",
    )
    parser.add_argument("--simulate", action="store_true", help="compile, then run small cases in the PTX simulator")
    parser.add_argument(
        "--multiprocessors",
        type=cli.positive(int),
        metavar="N",
        help="simulate a GPU that has N (default 132): with few, small cases take large tiles and several a CTA",
    )
    parser.add_argument("--sanitize", action="store_true", help="also run compute-sanitizer (needs a GPU)")
    cli.add_output(parser)
    return parser.parse_args(argv)


def _check(options) -> None:
    """UsageError for options of which one would be ignored."""
    simulated = options.simulate or options.multiprocessors
    if options.compile_only and (simulated or options.sanitize or options.reference):
        raise cli.UsageError("--compile-only runs nothing: leave --simulate, --multiprocessors, --sanitize and "
                             "--reference out")  # fmt: skip
    if options.sanitize and simulated:
        raise cli.UsageError("--sanitize needs a run on a GPU: leave --simulate and --multiprocessors out")


def main(argv: list[str] | None = None) -> ExitCode:
    options = parse(argv)
    cli.check_output(options.output)
    _check(options)
    contract.read_source(options.kernel)
    cli.require("torch")
    from kernel_harness.judge import verify_command

    return verify_command.run(options)


if __name__ == "__main__":
    raise SystemExit(cli.run(main))

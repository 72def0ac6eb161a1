"""Time a kernel file against its baselines: cold caches, device time, verified calls, ratios with their interval.

  python scripts/benchmark_kernel.py KERNEL.py                               against eager PyTorch and torch.compile
  python scripts/benchmark_kernel.py KERNEL.py --against OTHER.py            against another kernel file (repeatable)
  python scripts/benchmark_kernel.py KERNEL.py --case n=2^24 -o new.json     one case, results kept
  python scripts/benchmark_kernel.py KERNEL.py --compare old.json            a new run against an old one
  python scripts/benchmark_kernel.py --compare old.json new.json             two runs, nothing is timed

The speed-up is quoted against the best baseline; a kernel whose timed calls fail the comparison gets no number.
references/benchmarking.md explains the method.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # works from a copied folder, under -P and -I

from kernel_harness import cli
from kernel_harness.verdict import ExitCode


def main(argv: list[str] | None = None) -> ExitCode:
    options = _parser().parse_args(argv)
    _check(options)
    from kernel_harness import contract
    from kernel_harness.performance import benchmark_report, run_comparison

    allowed = frozenset(options.allow_different)
    old = run_comparison.load(options.compare[0]) if options.compare else None
    if old and options.kernel:
        run_comparison.check_old(old, run_comparison.sha256(contract.read_source(options.kernel)[0]), allowed)
    new = run_comparison.load(options.compare[1]) if options.kernel is None else _run(options)
    report = benchmark_report.of_run(new) if old is None or new["charges"] else benchmark_report.of_comparison(
        run_comparison.compare(old, new, allowed), new, options.fail_on_regression)
    return benchmark_report.emit(report, options, new)


def _parser():
    parser = cli.parser(__doc__)
    parser.add_argument("kernel", nargs="?", type=Path, metavar="KERNEL.py", help="the kernel file")
    parser.add_argument("--against", action="append", metavar="WHAT",
                        help="eager, torch.compile or another kernel file; repeatable (eager and torch.compile)")
    parser.add_argument("--case", action="append", default=[], metavar="NAME", help="a case of BENCH_CASES; repeatable")
    parser.add_argument("--budget", type=cli.positive(float), default=3.0, metavar="S",
                        help="seconds of timing for each case (3)")
    parser.add_argument("--method", choices=("cupti", "cuda-events", "perf_counter"),
                        help="the clock; without it the best one, and a fallback says why")
    parser.add_argument("--timeout", type=cli.positive(float), default=300.0, metavar="S",
                        help="seconds for any single step, such as a first call that compiles (300)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write roofline and case charts (.svg or .png)")
    parser.add_argument("--compare", nargs="+", metavar="JSON", type=Path, help="an old result, or an old and a new")
    parser.add_argument("--allow-different", nargs="+", default=[], choices=("gpu", "inputs", "kernel", "method"),
                        help="compare although these differ")
    parser.add_argument("--fail-on-regression", type=cli.positive(float), metavar="PCT",
                        help="exit 1 when a case is slower by more than PCT per cent")
    cli.add_output(parser)
    return parser


def _check(options) -> None:
    cli.check_output(options.output)
    cli.check_output(options.plot, "--plot")
    if options.compare and len(options.compare) > 2:
        raise cli.UsageError("--compare takes an old JSON and at most one new one")
    if options.kernel is None and len(options.compare or ()) != 2:
        raise cli.UsageError("name a KERNEL.py, or two results with --compare OLD.json NEW.json")
    if options.kernel is not None and len(options.compare or ()) == 2:
        raise cli.UsageError("--compare OLD.json NEW.json times nothing: leave KERNEL.py out, or give OLD.json alone")
    if options.fail_on_regression and not options.compare:
        raise cli.UsageError("--fail-on-regression needs --compare OLD.json")
    if "kernel" in (options.against or ()):
        raise cli.UsageError("--against kernel is what the report calls KERNEL.py: name another file as ./kernel")
    if options.plot and options.plot.suffix not in (".svg", ".png"):
        raise cli.UsageError(f"--plot {options.plot}: the file must end in .svg or .png")
    if options.plot and find_spec("matplotlib") is None:
        raise cli.UndecidedError("--plot needs matplotlib: pip install matplotlib")


def _run(options) -> dict:
    from kernel_harness.contract import read_source
    from kernel_harness.performance import benchmark
    from kernel_harness.report import Progress

    read_source(options.kernel)
    cli.require("torch")
    against = tuple(dict.fromkeys(options.against or ("eager", "torch.compile")))
    for file in (Path(name) for name in against if name not in ("eager", "torch.compile")):
        read_source(file)
    progress = Progress()
    try:
        return benchmark.run(benchmark.Settings(options.kernel, against, options.case, options.budget, options.timeout,
                                                options.method), progress.step)
    finally:
        progress.close()


if __name__ == "__main__":
    raise SystemExit(cli.run(main))

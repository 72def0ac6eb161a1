"""Find the fastest configuration of a kernel file: each is verified before it is timed, then they race.

  python scripts/tune_kernel.py KERNEL.py                          every case of BENCH_CASES
  python scripts/tune_kernel.py KERNEL.py --case n=2^24            one case
  python scripts/tune_kernel.py KERNEL.py --only "[256, 176]"      some configurations
  python scripts/tune_kernel.py KERNEL.py --budget 60 --jobs 8     longer races, more processes that compile

KERNEL.py defines TUNING_SPACE = {keyword of kernel_fn: [values]} and may define
tuning_constraint(*inputs, **configuration), which returns True or the reason why a combination makes no sense.
Steps are kept in KERNEL.tuning.jsonl: a run that was killed goes on where it stopped.

Without a GPU nothing is timed: every configuration is compiled (registers, spills) and simulated on one small case of
TEST_CASES, the one that --case names or the largest of up to 256 KiB. Exit code 6, or that of the worst of them.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # works from a copied folder, under -P and -I

from kernel_harness import cli
from kernel_harness.verdict import ExitCode

COLUMNS = ("case", "configuration", "us", "rounds", "first call s", "state")


def main(argv: list[str] | None = None) -> ExitCode:
    parser = cli.parser(__doc__)
    parser.add_argument("kernel", type=Path, metavar="KERNEL.py", help="the kernel file")
    parser.add_argument("--case", action="append", default=[], metavar="NAME",
                        help="a case of BENCH_CASES, without a GPU one of TEST_CASES; repeatable")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="only configurations with TEXT in what is printed of them, as 'tile=128'; repeatable")
    parser.add_argument("--budget", type=cli.positive(float), default=30.0, metavar="S",
                        help="seconds of racing for each case (30)")
    parser.add_argument("--jobs", type=cli.positive(), default=4, help="processes that compile at the same time (4)")
    parser.add_argument("--timeout", type=cli.positive(float), default=300.0, metavar="S",
                        help="seconds for one step, such as one compilation (300)")
    parser.add_argument("--journal", type=Path, metavar="FILE", help="where steps are kept (KERNEL.tuning.jsonl)")
    parser.add_argument("--method", choices=("cupti", "cuda-events", "perf_counter"), help="the clock")
    cli.add_output(parser)
    options = parser.parse_args(argv)
    cli.check_output(options.output)
    from kernel_harness.contract import read_source
    from kernel_harness.performance import checked_configurations, tuning
    from kernel_harness.performance.arena import NeedsGpu, Stopped
    from kernel_harness.report import Progress, Report, emit

    read_source(options.kernel)
    folder = (options.journal or options.kernel).expanduser().absolute().parent
    if not os.access(folder, os.W_OK):
        raise cli.UsageError(f"the journal cannot be written in {folder}: name another file with --journal")
    cli.require("torch")
    progress = Progress()
    settings = tuning.Settings(options.kernel, options.case, options.budget, options.jobs, options.timeout,
                               options.method, options.journal, options.only)
    try:
        document = tuning.run(settings, progress.step)
    except Stopped as stop:
        return emit(Report("tune_kernel", "NO WINNER", stop.code, {}, {}, (), [str(stop)]), options.format,
                    options.output)
    except NeedsGpu:
        found = checked_configurations.run(settings, progress.step)
        return emit(checked_configurations.report(found), options.format, options.output)
    finally:
        progress.close()
    return _report(document, options)


def _report(document: dict, options) -> ExitCode:
    from kernel_harness import environment
    from kernel_harness.performance.tuning_journal import text_of
    from kernel_harness.report import Report, Table, emit

    rows = [(case["name"], text_of(row["config"]), row["us"], row["rounds"], row["first_call_s"], row["state"])
            for case in document["cases"] for row in case["configurations"]]
    failed = [(case["name"], text_of(row["config"]), row["failure"])
              for case in document["cases"] for row in case["failed"]]
    won = [case for case in document["cases"] if any(row["config"] for row in case["configurations"])]
    tables = [Table("Configurations", COLUMNS, rows, "configuration"),
              Table("Skipped", ("case", "configuration", "reason"), failed, "skipped")]
    notes = [f"case {case['name']}: {text_of(case['winner'])} takes {case['us']:.2f} us"
             + (f", {case['over_file']:.3f} times as fast as the file as it stands" if case["over_file"] else "")
             if case["winner"] else
             f"case {case['name']}: nothing is faster than the file as it stands, {case['us']:.2f} us" for case in won]
    notes += [f"{document['resumed_steps']} steps were taken over from {document['journal']}"] \
        if document["resumed_steps"] else []
    code = ExitCode.PASS if len(won) == len(document["cases"]) else ExitCode.WRONG_RESULT
    return emit(Report("tune_kernel", "TUNED" if not code else "NO WINNER", code,
                       {"environment": environment.describe(), **document},
                       {"cases": len(won), "journal": document["journal"]}, [t for t in tables if t.rows], [], notes,
                       [f"paste:\n{document['snippet']}"] if won else []), options.format, options.output)


if __name__ == "__main__":
    raise SystemExit(cli.run(main))

#!/usr/bin/env python3
"""Does the skill help? Drive any command-line agent through the tasks, with and without the skill, and grade it.

  python evals/run_evals.py --agent 'my-agent --prompt {prompt_file} --dir {workspace}' --both -o runs/
  python evals/run_evals.py --agent '...' --task write-elementwise --with-skill --repeat 3

Each call of the agent gets a clean folder and the task's time limit; its output is kept, the result graded on hidden
shapes. The same command goes on where a killed one stopped. The agent is never called more often than planned:
an interrupted call counts, and is repeated only when --max-calls leaves room. Without a GPU the grade rests on
compilation, inspection and simulation, and the report says so. Progress on stderr, the report's path on stdout.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import hosts
import runner
import summary
import tasks as catalogue
from kernel_harness import cli


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", metavar="COMMAND", help="with {prompt_file} and, if it likes, {workspace}")
    parser.add_argument("--task", action="append", default=[], metavar="NAME", help="only this task (repeatable)")
    parser.add_argument("--list", action="store_true", help="name the tasks and end")
    arms = parser.add_mutually_exclusive_group()
    arms.add_argument("--with-skill", dest="arms", action="store_const", const=summary.ARMS[:1])
    arms.add_argument("--without-skill", dest="arms", action="store_const", const=summary.ARMS[1:])
    arms.add_argument("--both", dest="arms", action="store_const", const=summary.ARMS, help="the default")
    parser.add_argument("--jobs", type=cli.positive(int), default=1, metavar="N", help="agents at a time")
    parser.add_argument("--repeat", type=cli.positive(int), default=1, metavar="N", help="runs of each task and arm")
    parser.add_argument("--ray", metavar="ADDRESS", help="on a Ray cluster; local starts one here (pip install ray)")
    parser.add_argument("--max-calls", type=cli.positive(int), metavar="N", help="calls in -o, ever (one a run)")
    parser.add_argument("--minutes", type=cli.positive(float), metavar="M", help="a limit in place of each task's own")
    parser.add_argument("-o", "--output", type=Path, default=Path("eval-runs"), metavar="DIR")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    options = parse(argv)
    known = catalogue.load()
    if options.list:
        print("\n".join(f"{task.name:28} {task.kind:8} {task.minutes:g} minutes" for task in known.values()))
        return 0
    unknown = [name for name in options.task if name not in known]
    if unknown:
        raise cli.UsageError(f"there is no task {unknown[0]}; --list names them")
    if not options.agent or "{prompt_file}" not in options.agent:
        raise cli.UsageError("--agent 'COMMAND {prompt_file} {workspace}' says how to call the agent")
    chosen = [task for name, task in known.items() if not options.task or name in options.task]
    runs = [runner.Run(task, arm, number) for number in range(1, options.repeat + 1) for task in chosen
            for arm in options.arms or summary.ARMS]  # fmt: skip
    try:
        options.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cli.UsageError(f"-o {options.output} cannot be a folder: {error.strerror}") from None
    work = runner.Runner(options.agent, options.output, options.max_calls, _host(options.ray),
                         _say, options.minutes)  # fmt: skip
    try:
        missing = [run.path for run in work.run_all(runs, options.jobs)]
    except (BlockingIOError, hosts.NoAgent) as error:
        raise cli.UsageError(str(error)) from None
    calls = len((options.output / "calls.jsonl").read_text().splitlines())
    benchmark = summary.document(options.output, options.agent, calls, missing)
    runner.write(options.output / "benchmark.json", benchmark)
    (options.output / "BENCHMARK.md").write_text(summary.markdown(benchmark), encoding="utf-8")
    print(options.output / "BENCHMARK.md")
    if missing:
        print(f"{len(missing)} runs were not made; raise --max-calls to make them", file=sys.stderr)
    return 6 if missing else 0


def _say(text: str) -> None:
    """A whole line at once: print() writes its end apart, and runs that speak at the same time would share a line."""
    sys.stderr.write(f"{text}\n")


def _host(address: str | None) -> hosts.ThisMachine | hosts.Cluster:
    if address is None:
        return hosts.ThisMachine()
    try:
        return hosts.Cluster(address)
    except ImportError:
        raise cli.UsageError("--ray needs Ray: pip install ray") from None
    except ConnectionError as error:
        raise cli.UsageError(f"no Ray cluster at {address}: {error}") from None


if __name__ == "__main__":
    raise SystemExit(cli.run(main))

#!/usr/bin/env python3
"""Grade one workspace: is the task done, as the verifier, the inspector and the benchmark see it?

  python evals/grade.py TASK WORKSPACE [-o grading.json]

The submission's own specification is not used: kernel_fn is run against the task's hidden reference, shapes and
instruction facts. Without a GPU it is graded by compilation, inspection and simulation, the document says so, and what
only a GPU decides is undecided, which is no pass. Exit code: 0 every expectation holds, 1 one does not, 6 undecided.
"""

from __future__ import annotations

import argparse
import ast
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import children
import tasks as catalogue
from kernel_harness import cli, environment
from kernel_harness.verdict import ExitCode

WITHOUT_GPU = "compilation, inspection and simulation; no GPU, no timing"
SCRIPTS, JSON = catalogue.ROOT / "scripts", ("--format", "json")
SECONDS = 900  # for one script; each limits the steps of the submission's own code itself
WRAPPER = '''

def kernel_fn(*inputs):
    """The submission's kernel_fn; imported when it is called, so that the process of the reference never runs it."""
    import importlib.util
    import pathlib
    import sys

    module = sys.modules.get("submission")
    if module is None:
        path = pathlib.Path(__file__).parent / "submission" / "kernel.py"
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location("submission", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["submission"] = module
        spec.loader.exec_module(module)
    return module.kernel_fn(*inputs)
'''


class Undecided(Exception):
    """This machine cannot tell."""


class Failed(Exception):
    """The expectation does not hold; the message is the evidence."""


def grade(task: catalogue.Task, workspace: Path, has_gpu: bool | None = None) -> dict:
    """The grading document of ``workspace``: one entry an expectation, in the shape that skill-creator reads."""
    has_gpu = bool(environment.gpus()) if has_gpu is None else has_gpu
    rows, facts = [], {}
    with tempfile.TemporaryDirectory(prefix="grading-") as folder:
        for check, text in task.expectations().items():
            failed = [row for row in rows if not row["passed"] and not row["undecided"]]
            try:
                if failed:
                    raise Failed(f"not looked at, because of: {failed[0]['text']}")
                evidence, passed, undecided = CHECKS[check](task, workspace, Path(folder), has_gpu, facts), True, False
            except Failed as error:
                evidence, passed, undecided = str(error), False, False
            except Undecided as error:
                evidence, passed, undecided = f"undecided: {error}", False, True
            rows.append({"text": text, "passed": passed, "undecided": undecided, "evidence": evidence})
    passed, undecided = sum(row["passed"] for row in rows), sum(row["undecided"] for row in rows)
    verdict = "PASS" if passed == len(rows) else "UNDECIDED" if passed + undecided == len(rows) else "FAIL"
    return {
        "eval_id": task.id, "eval_name": task.name, "verdict": verdict,
        "graded_by": "a GPU" if has_gpu else "reading" if task.kind == "decide" else WITHOUT_GPU,
        "expectations": rows, "assertion_results": rows, "facts": facts,
        "summary": {"passed": passed, "failed": len(rows) - passed - undecided, "undecided": undecided,
                    "total": len(rows), "pass_rate": passed / max(len(rows) - undecided, 1)},
    }  # fmt: skip


def _contract(task, workspace, folder, has_gpu, facts) -> str:
    path = workspace / catalogue.SUBMISSION
    if not path.is_file() or path.is_symlink():
        raise Failed(f"there is no file {catalogue.SUBMISSION} in the workspace")
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise Failed(f"{catalogue.SUBMISSION} is not Python: {error}") from None
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    names |= {n.id for node in tree.body if isinstance(node, ast.Assign) for t in node.targets for n in ast.walk(t)
              if isinstance(n, ast.Name)}  # fmt: skip
    if "kernel_fn" not in names:
        raise Failed(f"{catalogue.SUBMISSION} does not define kernel_fn")
    facts["kernel_lines"] = sum(bool(line.strip()) and not line.strip().startswith("#") for line in text.splitlines())
    (folder / "submission").mkdir()
    for source in workspace.glob("*.py"):  # its helpers too, but no folder that imports could be steered through
        if source.is_file() and not source.is_symlink():
            shutil.copy(source, folder / "submission" / source.name)
    (folder / "graded.py").write_text(task.hidden.read_text(encoding="utf-8") + WRAPPER, encoding="utf-8")
    return f"{facts['kernel_lines']} lines of code"


def _instructions(task, workspace, folder, has_gpu, facts) -> str:
    code, document, log = _run(SCRIPTS / "inspect_kernel.py", folder / "graded.py", "--arch", task.arch, *JSON)
    kernels = [kernel for kernel in document.get("kernels", ()) if kernel["language"] == "CuTe DSL"]
    if code is not ExitCode.PASS or not kernels:
        raise Failed(f"{document.get('verdict', code.name)}, {len(kernels)} CuTe DSL kernels: {log}")
    return "; ".join(f"{kernel['label']}: {kernel['registers']} registers, {kernel['spill_bytes']} bytes spilled"
                     for kernel in kernels)  # fmt: skip


def _needed(task, workspace, folder, has_gpu, facts) -> str:
    code, document, log = _run(catalogue.HERE / "silenced.py", folder / "graded.py", task.arch)
    if code is not ExitCode.PASS or "close" not in document:
        raise Failed(f"kernel_fn could not be run without its launches: {log}")
    if document["close"]:
        raise Failed(f"the result is right with {document['launches']} launches left out: something else computes it")
    if not document["launches"]:
        raise Undecided(f"no launch was seen, and the result is not the reference's {document['error']}")
    return f"{document['launches']} launches left out; the result is not the reference's"


def _verify(task, workspace, folder, has_gpu, facts) -> str:
    level = "full" if has_gpu else "quick"
    code, document, log = _run(SCRIPTS / "verify_kernel.py", folder / "graded.py", "--level", level, *JSON)
    verdict = document.get("verdict", code.name)
    wanted = "PASS" if has_gpu else "SIMULATED"
    if code is ExitCode.UNDECIDED or (code is ExitCode.PASS and verdict != wanted):
        raise Undecided(f"{verdict}: {log}")
    if code is not ExitCode.PASS:
        reasons = "; ".join(reason["text"] for reason in document.get("reasons", ()))
        raise Failed(f"{verdict}: {reasons or log}"[:2000])
    cases = {comparison["case"] for comparison in document["comparisons"]}
    return f"{verdict}: {len(cases)} hidden cases, {len(document['comparisons'])} comparisons"


def _speed(task, workspace, folder, has_gpu, facts) -> str:
    if not has_gpu:
        raise Undecided("no GPU")
    asked = [word for baseline in task.against for word in ("--against", baseline)]
    asked += [word for case in _timed_cases(task) for word in ("--case", case)]  # and not get_inputs() as it is
    code, document, log = _run(SCRIPTS / "benchmark_kernel.py", folder / "graded.py", *asked, *JSON)
    cases = document.get("cases", ())
    if code is not ExitCode.PASS or not cases:
        raise Failed(f"no time was measured: {log}")
    if alone := [case["name"] for case in cases if not case.get("speedup")]:
        raise Undecided(f"nothing to compare with in case {alone[0]}: {log}")
    worst = min(cases, key=lambda case: case["speedup"]["estimate"])
    facts["speedup"], most = worst["speedup"]["estimate"], worst["speedup"]["high"]
    evidence = f"{facts['speedup']:.2f} times the speed of {task.peer} in the worst case, {worst['name']}"
    if most < task.target:  # the target lies outside what the measurement leaves open
        raise Failed(f"{evidence}; at most {most:.3f}")
    return evidence


def _timed_cases(task) -> list[str]:
    """The names in the hidden specification's BENCH_CASES, a literal; it is read, not run."""
    for node in ast.parse(task.hidden.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "BENCH_CASES":
            return [ast.literal_eval(key) for key in node.value.keys]
    return []


def _answer(task, workspace, folder, has_gpu, facts) -> str:
    choice = _read_answer(workspace).get("choice")
    if choice not in task.choices:
        raise Failed(f"choice is {choice!r}, not one of {', '.join(task.choices)}")
    facts["choice"] = choice
    if choice not in task.accepted:
        raise Failed(f"choice is {choice}")
    return f"choice is {choice}"


def _reason(task, workspace, folder, has_gpu, facts) -> str:
    reason = _read_answer(workspace).get("reason")
    if not isinstance(reason, str) or not 20 <= len(reason.strip()) <= 1000:
        raise Failed("reason is missing, or has not 20 to 1000 characters")
    return reason.strip()


def _read_answer(workspace: Path) -> dict:
    try:
        answer = json.loads((workspace / catalogue.ANSWER).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Failed(f"{catalogue.ANSWER} cannot be read: {error}") from None
    if not isinstance(answer, dict):
        raise Failed(f"{catalogue.ANSWER} is not an object")
    return answer


CHECKS = {"contract": _contract, "instructions": _instructions, "needed": _needed, "verify": _verify,
          "speed": _speed, "answer": _answer, "reason": _reason}  # fmt: skip


def _run(script: Path, *arguments) -> tuple[ExitCode, dict, str]:
    """Run a script: its exit code, its JSON document and the last words of its log. Raises children.Stopped."""
    command = [sys.executable, str(script), *map(str, arguments)]
    with children.running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as done:
        try:
            stdout, stderr = done.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return ExitCode.CRASH, {}, f"{script.name} took longer than {SECONDS} s"
    try:
        document = json.loads(stdout)
    except ValueError:
        document = {}
    log = "; ".join(document.get("findings", ())) or stderr.strip()[-600:]
    if done.returncode not in set(ExitCode) or document.get("exit_code", done.returncode) != done.returncode:
        return ExitCode.CRASH, document, f"{script.name} ended with {done.returncode}: {log}"
    return ExitCode(done.returncode), document, log


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=sorted(catalogue.load()), metavar="TASK", help="a name from evals/tasks.json")
    parser.add_argument("workspace", type=Path, metavar="WORKSPACE")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    options = parser.parse_args(argv)
    if not options.workspace.is_dir():
        parser.error(f"{options.workspace} is no folder")
    document = grade(catalogue.load()[options.task], options.workspace)
    text = json.dumps(document, indent=1)
    print(text)
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")
    codes = {"PASS": ExitCode.PASS, "FAIL": ExitCode.WRONG_RESULT, "UNDECIDED": ExitCode.UNDECIDED}
    return int(codes[document["verdict"]])


if __name__ == "__main__":
    raise SystemExit(cli.run(main))

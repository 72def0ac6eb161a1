"""What tune_kernel.py can say of configurations without a GPU: each is compiled, and a small case of it simulated.

Small inputs pick the same few configurations; here every one runs on the same case, with its registers and spills.
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .. import simulation
from ..cli import UndecidedError, UsageError
from ..contract import ContractError, configured
from ..processes.worker import Worker, WorkerError, run_tree
from ..verdict import ExitCode, worst
from .tuning import Settings, configurations, no_space
from .tuning_journal import text_of

VERIFY = Path(__file__).resolve().parents[2] / "verify_kernel.py"
COLUMNS = ("configuration", "verdict", "registers", "spill_bytes", "seconds")
MOST_BYTES = 256 * 2**10  # of the inputs of the case: every configuration runs it
JOBS = 2  # a verification has processes of its own
LEFT_OUT = "<tuning_constraint: "
WRAPPER = '''"""{text}"""
from __future__ import annotations

import functools
import importlib.util
import inspect
import sys

sys.path.insert(0, {folder!r})
_spec = importlib.util.spec_from_file_location({stem!r}, {path!r})
_file = importlib.util.module_from_spec(_spec)
sys.modules[{stem!r}] = _file
_spec.loader.exec_module(_file)
globals().update({{name: value for name, value in vars(_file).items() if not name.startswith("__")}})
del TUNING_SPACE
globals().pop("EXPECT", None)  # says what the file's own configuration compiles to


{configured}

def kernel_fn(*inputs):
    config = {config!r}
    allows = getattr(_file, "tuning_constraint", None)
    if config and allows and (answer := configured(allows, config, len(inputs))(*inputs)) is not True:
        raise ValueError(f"{left_out}{{answer}}>")
    return configured(_file.kernel_fn, config, len(inputs))(*inputs)
'''


# Its source: a file that imports the harness would be one that asks who is calling.
CONFIGURED = inspect.getsource(configured)
PATIENCE = 8  # verify_kernel.py gives a simulated call five times its --timeout, and says then where it hangs


@dataclass(frozen=True)
class Checked:
    """One configuration: the verdict of its verification, its reason where it is no pass, and what was compiled."""

    config: dict
    verdict: str
    exit_code: int
    reason: str
    registers: int | None
    spill_bytes: int | None
    seconds: float


def run(settings: Settings, progress: Callable[[str], None] = lambda _: None) -> dict:
    """{"case", "arch", "configurations": [Checked, ...]}; UndecidedError where nothing can be simulated."""
    space, case, arch = _asked(settings)
    every = configurations(space, settings.only)
    done: list[Checked] = []

    def check(folder: str, index: int) -> Checked:
        found = _checked(settings, Path(folder, f"configuration_{index}.py"), every[index], case, arch)
        done.append(found)
        progress(f"{len(done)} of {len(every)} configurations: {text_of(found.config)} {found.verdict}")
        return found

    with tempfile.TemporaryDirectory(prefix="configurations-") as folder, ThreadPoolExecutor(JOBS) as pool:
        rows = list(pool.map(lambda index: check(folder, index), range(len(every))))
    return {"case": case, "arch": arch, "configurations": rows}


def report(found: dict):
    """How people read it: never a pass, as nothing was timed."""
    from ..report import Report, Table

    checked: Sequence[Checked] = found["configurations"]
    rows = [(text_of(c.config), c.verdict, c.registers, c.spill_bytes, c.seconds) for c in checked]
    wrong = [c for c in checked if c.exit_code not in (ExitCode.PASS, ExitCode.UNDECIDED)]
    findings = [f"{text_of(c.config)}: {c.reason}" for c in checked if c.reason]
    findings += [f"{text_of(c.config)} spills {c.spill_bytes} bytes" for c in checked if c.spill_bytes]
    notes = ["there is no GPU here: nothing was timed; each configuration was compiled, and this case of it simulated"]
    document = {"case": found["case"], "arch": found["arch"], "configurations": [vars(c) for c in checked]}
    summary = {"case": found["case"], "arch": found["arch"], "configurations": len(checked), "wrong": len(wrong)}
    code = worst(c.exit_code for c in wrong) if wrong else ExitCode.UNDECIDED
    verdict = next((c.verdict for c in wrong if c.exit_code == code), "NO GPU")
    return Report("tune_kernel", verdict, code, document, summary, [Table("Configurations", COLUMNS, rows)], findings,
                  notes)


def _asked(settings: Settings) -> tuple[dict, str, str]:
    """The file's TUNING_SPACE, the test case that every configuration runs, and the target to compile for."""
    if reason := simulation.possible():
        raise UndecidedError(reason)
    with tempfile.TemporaryDirectory(prefix="configurations-") as folder:
        oracle = Worker("oracle", Path(folder))
        try:
            answer = oracle.call("load", settings.timeout_s, path=str(settings.file.absolute()),
                                 simulate={"arch": simulation.ARCHS[0], "folder": folder})  # fmt: skip
            if "contract" in answer:
                raise ContractError(answer["contract"], answer["detail"])
            if not answer["tuning_space"]:
                raise ContractError(no_space(settings.file))
            arch = next((a for a in simulation.ARCHS if a in answer["archs"] or not answer["archs"]), None)
            if arch is None:
                raise UndecidedError(f"none of the file's ARCHS can be simulated: {', '.join(answer['archs'])}")
            names = list(settings.cases) or answer["cases"]
            if unknown := [name for name in names if name not in answer["cases"]]:
                raise UsageError(f"--case {unknown[0]!r}: without a GPU only a case of TEST_CASES can run: "
                                 f"{', '.join(map(repr, answer['cases']))}")  # fmt: skip
            sizes = dict(zip(names, oracle.call("nbytes", settings.timeout_s, cases=names)["nbytes"], strict=True))
        except WorkerError as error:
            raise ContractError(f"{settings.file}: importing it failed: {error}", error.log) from None
        finally:
            oracle.close()
    most = simulation.INPUT_BYTES if settings.cases else MOST_BYTES
    small = {name: size for name, size in sizes.items() if 0 < size <= most}
    if not small:
        raise UndecidedError(f"no test case has inputs of at most {most >> 10} KiB, to be simulated")
    return answer["tuning_space"], max(small, key=lambda name: small[name]), arch


def _checked(settings: Settings, wrapper: Path, config: dict, case: str, arch: str) -> Checked:
    file, started = settings.file.absolute(), time.monotonic()
    frozen = {name: _frozen(value) for name, value in config.items()}
    says = {"text": f"{file.stem}, {text_of(config)}", "config": frozen, "left_out": LEFT_OUT, "configured": CONFIGURED}
    wrapper.write_text(WRAPPER.format(folder=str(file.parent), stem=file.stem, path=str(file), **says))
    answer = wrapper.with_suffix(".json")
    command = [sys.executable, str(VERIFY), str(wrapper), "--level", "quick", "--case", case, "--arch", arch,
               "--simulate", "--timeout", f"{settings.timeout_s:g}", "--format", "json", "-o", str(answer)]  # fmt: skip
    _, said = run_tree(command, PATIENCE * settings.timeout_s)
    seconds = round(time.monotonic() - started, 1)
    try:
        document = json.loads(answer.read_text())
    except (OSError, ValueError):
        last = (said.strip().splitlines() or ["it took too long"])[-1]
        return Checked(config, "CRASH", ExitCode.CRASH, last[:300], None, None, seconds)
    kernels = document.get("compiled", {}).get("kernels", [])
    most = {}
    for fact in ("registers", "spill_bytes"):
        most[fact] = max((kernel[fact] for kernel in kernels if kernel[fact] is not None), default=None)
    reasons = [reason["text"] for reason in document.get("reasons", ())] or list(document.get("findings", ()))
    if reasons and LEFT_OUT in reasons[0]:
        why = reasons[0].partition(LEFT_OUT)[2].partition(">")[0]
        return Checked(config, f"LEFT OUT: {why}", ExitCode.PASS, "", None, None, seconds)
    reasons += document.get("notes", [])[-1:] if document["exit_code"] == ExitCode.UNDECIDED and not reasons else []
    return Checked(config, document["verdict"], document["exit_code"], reasons[0][:300] if reasons else "", **most,
                   seconds=seconds)  # fmt: skip


def _frozen(value):
    return tuple(map(_frozen, value)) if isinstance(value, list) else value

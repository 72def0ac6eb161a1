"""The judge: plans trials, drives the oracle and the candidate, decides. It never imports the kernel file.

For each case the reference of the first inputs is computed before the kernel runs on them, and the reference of every
variation after: whatever one process leaves behind for the other is missing in one of the two orders.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from ..cli import no_such_case
from ..contract import ContractError, read_source
from ..processes import bytecode, child, freed_memory, worker
from . import case_choice, lanes, startup
from .outcome import Outcome, Settings, Stop

CALLS = {"quick": 24, "full": 48, "paranoid": 400}  # of the alternating loop
MORE_CALLS_SECONDS = 0.5  # until when the loop of the first case goes on, at full and above
REPEATS = {"quick": 1, "full": 3, "paranoid": 10}
HOOKS = (
    "the working folder", "an interval timer", "trace or profile function", "import hooks of the file",
    "CPU affinity or priority", "a lowered recursion limit", "environment variables",
)  # fmt: skip
MAX_BENCH_CASES = 8
HISTORY_RESULTS = 8  # as many as the candidate keeps
ROOMY_CORES = 8  # from here on the processes of several judges import at the same time and each loses little
SEEDS = {"quick": 1, "full": 3, "paranoid": 5}


def verify(settings: Settings, progress: Callable[[str], None] = lambda _: None, place=None) -> Outcome:
    """Judge a kernel file. Raises ContractError or UsageError for what is wrong before anything runs.

    place: of startup.workplace, where the caller had other work to do while PyTorch is imported.
    """
    read_source(settings.kernel)
    if settings.reference:
        read_source(settings.reference)
    worker.adopt_orphans()
    freed_memory.keep()
    outcome = Outcome(settings)
    progress = outcome.timed(progress)
    with contextlib.ExitStack() as stack:
        folder, nursery = place or stack.enter_context(startup.workplace(startup.common_imports(settings)))
        stack.callback(worker.kill_orphans)
        progress("importing PyTorch")
        with bytecode.kept(), child.yielding_threads():  # here, while the nursery imports it
            from . import closing, derived_trials, device_trials, shrunk_trials, trials  # noqa: F401

        judge = Judge(settings, outcome, folder / "first", progress, nursery)
        with contextlib.closing(judge), contextlib.suppress(Stop):
            judge.run()
    return outcome


class Judge:
    """One verification, or a lane of it (lanes.py): two workers and the trials on each case."""

    def __init__(self, settings: Settings, outcome: Outcome, folder: Path, progress: Callable[[str], None],
                 nursery: worker.Nursery | None = None):
        self.settings, self.outcome, self.folder, self.progress = settings, outcome, folder, progress
        self.nursery = nursery
        folder.mkdir()
        self.full, self.paranoid = settings.level != "quick", settings.level == "paranoid"
        self.added: list[tuple[str, dict]] = []  # questions by which the oracle has cases that the file has not
        self.oracle = self._worker("oracle")
        self.candidate = self._worker("candidate")
        self.interprets = False  # the last answered load's `interpret`
        self.loaded = False  # has the candidate imported the file, as far as anyone asked?
        self.loading: bool | None = None  # the `interpret` of a load that the candidate was sent and has not answered
        self.lanes: lanes.Lanes | None = None  # further judges that share this one's cases
        self.put_off: list[Callable] | None = None  # in a lane: cases that it leaves to the first judge
        self.refused: set[Callable] = set()  # changes of values that the reference does not take
        self.knows_refused = threading.Event()
        self.planned: list[str] = []  # the cases in their order, to say how far it is
        self.teeth: dict[tuple[str, str], list[bool]] = {}  # (output, kernel that computes nothing): did it pass?
        self.understudy: worker.Worker | None = None  # the oracle of hostile trials, which imports what they need
        self.spares: list[worker.Worker] = []  # further candidates that import the file meanwhile
        self.capturable = True  # until a case cannot be captured in a CUDA graph
        self.spoiled = False  # a failed capture: the candidate is fit for no further case
        self.serial = 0
        self.held: list[str] = []  # results that the candidate must still have at the end
        self.seed = secrets.randbits(48)
        outcome.facts["seed"] = self.seed

    def _worker(self, role: str) -> worker.Worker:
        return worker.Worker(role, self.folder, self.nursery)

    def close(self) -> None:
        if self.lanes:
            self.lanes.abandon()
        for process in self._processes():
            process.close()

    def kill(self) -> None:
        """End the processes while another thread talks to them: it will see that they died, and close them."""
        for process in (p for p in self._processes() if p.alive):  # the number of a dead one may be another's by now
            worker.kill_tree(process.process.pid)

    def _processes(self) -> list[worker.Worker]:
        return [self.oracle, self.candidate, *self.spares, *filter(None, [self.understudy])]

    # --- the plan ---

    def run(self) -> None:
        self.progress("loading the file")
        on_gpu = self.send_loads()
        has_cores = len(os.sched_getaffinity(0)) >= ROOMY_CORES
        if on_gpu and has_cores and self.full:
            self.start_another(interpret=False, fresh=True)  # so that its import is over when other trials run
        has_cases = "_CASES" in read_source(self.settings.kernel)[0] and len(self.settings.cases) != 1
        if on_gpu and has_cores and has_cases:
            self.lanes = lanes.Lanes(self, [self._beside(index) for index in range(lanes.SIDES)])
        from . import closing, derived_trials, device_trials, shrunk_trials, trials, vast_trials

        if on_gpu:
            device_trials.warm_up()
        cases = self.load()
        if self.settings.resized:
            return shrunk_trials.run_resized(self)
        thorough = self._thorough_case(cases)
        jobs = [partial(trials.run_case, case=name) for name in cases if name != thorough]
        if self.full and not self.settings.cases and on_gpu and vast_trials.is_due(self):
            jobs.insert(0, vast_trials.run)  # what takes long comes early
        self.planned = [thorough, *(name for name in cases if name != thorough)]
        if self.settings.simulate and not self.settings.cases:
            jobs.append(shrunk_trials.run)
        if self.full and not self.settings.cases:
            jobs.append(derived_trials.run)
        # The largest stand last in most files; begun last, it would be waited for by all lanes.
        jobs += [partial(trials.run_case, case=name, bench=True) for name in reversed(self.bench[:MAX_BENCH_CASES])]
        if self.lanes:
            self.lanes.start(cases, jobs)
        trials.run_case(self, thorough, thorough=True)
        if self.lanes:
            self.lanes.finish()
        else:
            for job in jobs:
                job(self)
        closing.check(self)

    def send_loads(self) -> bool:
        """Let the workers import the file: also the candidate, and True, where it may be for a GPU that is here."""
        self.send_oracle_load()
        on_gpu = startup.may_use_gpu(self.settings)
        if on_gpu or self.settings.simulate:
            self._send_load(interpret=False)  # at the same time as the oracle; the inputs say whether that was right
        return on_gpu

    def _thorough_case(self, cases: list[str]) -> str:
        if not self.full or self.settings.simulate or len(cases) == 1:
            return cases[0]
        return case_choice.thorough(cases, lambda cases: self.ask_oracle("nbytes", cases=cases)["nbytes"])

    def _beside(self, index: int) -> Judge:
        judge = Judge(self.settings, Outcome(self.settings), self.folder.with_name(f"side{index}"), self.progress,
                      self.nursery)
        judge.send_loads()
        return judge

    def load(self) -> list[str]:
        """The cases to judge, once the oracle has imported the file."""
        declared = self.ask_oracle_answer("load")
        self.declared = declared
        if "needs_gpu" in declared:
            self.outcome.needs_gpu = declared["needs_gpu"]
            raise Stop
        if "contract" in declared:
            raise ContractError(declared["contract"], declared["detail"])
        self.mutates = frozenset(declared["mutates"])
        self.outcome.facts.update({name: declared[name] for name in ("archs", "sha256", "doc", "bench_cases")})
        self._tampering("while the file was imported", declared)
        cases = declared["cases"]
        if unknown := [name for name in self.settings.cases if name not in cases]:
            raise no_such_case(unknown[0], self.settings.kernel, cases)
        chosen = list(self.settings.cases) or cases
        # What is timed must be right, too: BENCH_CASES that are not among the cases follow, as far as they are small.
        is_asked = self.full and not self.settings.cases and not self.settings.simulate
        self.bench = [name for name in declared["bench_cases"] if name not in cases] if is_asked else []
        return chosen

    def send_oracle_load(self, process: worker.Worker | None = None) -> None:
        settings, files = self.settings, (self.settings.kernel, self.settings.reference)
        path, reference = (str(file.expanduser().absolute()) if file else None for file in files)
        (process or self.oracle).send("load", path=path, reference=reference, simulate=settings.simulate)

    def renew_oracle(self) -> None:
        """Another process for the reference: values of the judge's own made it fault on the device."""
        self.oracle.close()
        self.oracle = self._worker("oracle")
        self.send_oracle_load()
        self.ask_oracle_answer("load")
        for op, arguments in self.added:
            self.ask_oracle(op, **arguments)

    def _send_load(self, interpret: bool, process: worker.Worker | None = None) -> None:
        path, simulate = str(self.settings.kernel.expanduser().absolute()), self.settings.simulate
        request = {"folder": str(self.folder), "interpret": interpret, "simulate": simulate}
        (process or self.candidate).send("load", path=path, **request)
        if process is None:
            self.loading = interpret

    def load_candidate(self, interpret: bool) -> None:
        """Import the file in the candidate, once the device of the inputs is known."""
        if self.loading is not None and self.loading != interpret:
            self._new_candidate()
            self.dismiss_spares()
        if self.loading is None:
            self._send_load(interpret)
        loaded = self.ask_candidate_answer("load")
        self.loading, self.interprets = None, interpret
        if "contract" in loaded:
            raise ContractError(loaded["contract"], loaded.get("detail", ""))
        self._tampering("while the file was imported", loaded)
        lasting = ("dispatch modes", "function modes", "overridden")
        modes = [text for text in loaded["state"] if text.startswith(lasting)]
        if modes:
            self.outcome.add("state", f"Importing the file left global state changed: {'; '.join(modes)}.")
        elif loaded["state"]:
            self.outcome.note(
                f"importing the file changes global settings ({'; '.join(loaded['state'][:2])}); the "
                "reference runs with PyTorch's strict defaults"
            )
        self.outcome.facts["kernels_defined"] = loaded["kernels_defined"]

    def _new_candidate(self) -> None:
        self.candidate.close()
        self.candidate, self.loading = self._worker("candidate"), None

    def dismiss_spares(self, kept: int = 0) -> None:
        while len(self.spares) > kept:
            self.spares.pop().close()

    def renew_candidate(self) -> None:
        """Another process for the next cases: a failed capture leaves PyTorch's allocator and generators capturing."""
        self.recheck()
        self.replace_candidate()
        self.spoiled = False

    def replace_candidate(self) -> None:
        """Another process on the GPU in place of one that can answer nothing more."""
        self._new_candidate()
        self.load_candidate(interpret=False)

    def recheck(self) -> None:
        """What can be said of a candidate's results and process once it is asked for no more."""
        late = self.ask_candidate("recheck")
        if late["changed"]:
            self.outcome.add("earlier-result", f"Results changed after their call: {', '.join(late['changed'][:4])}.")
        if lost := [name for name in self.held if name not in late["kept"]]:
            self.outcome.add("tampering", f"Results that were kept for a second look are gone: {', '.join(lost)}.")
        self.held = []  # the next candidate counts anew
        self._tampering("by the end", late)

    # --- talking to the workers ---

    def rehearse(self) -> None:
        """Let another oracle import the file and what hostile trials will need, while other trials run."""
        self.understudy = self._worker("oracle")
        self.send_oracle_load(self.understudy)
        self.understudy.send("rehearse")

    def take_understudy(self) -> None:
        if self.understudy:
            self.oracle.close()
            self.oracle, self.understudy = self.understudy, None
            self.ask_oracle_answer("load")
            self.ask_oracle_answer("rehearse")

    def ask_oracle(self, op: str, **arguments) -> dict:
        self.oracle.send(op, **arguments)
        return self.ask_oracle_answer(op)

    def ask_oracle_answer(self, op: str) -> dict:
        what = {"load": "importing the file", "inputs": "get_inputs", "reference": "reference_fn"}.get(op, op)
        try:
            return self.oracle.receive(self.settings.timeout)
        except worker.WorkerTimeout as error:
            seen = f"{what} took longer than {self.settings.timeout:g} s and was killed."
            self.outcome.add("timeout", seen + _tail(error.log))
        except worker.WorkerForged as error:
            self.outcome.add("forged-channel", f"During {what}, {error}.")
        except worker.WorkerDied as error:
            self._died(what, error)
        raise Stop

    def ask_candidate(self, op: str, case: str = "", **arguments) -> dict:
        return self.ask(self.candidate, op, case, **arguments)

    def ask(self, candidate: worker.Worker, op: str, case: str = "", **arguments) -> dict:
        candidate.send(op, **arguments)
        return self.ask_candidate_answer(op, case, candidate)

    def ask_candidate_answer(self, op: str, case: str = "", candidate: worker.Worker | None = None) -> dict:
        what = "importing the file" if op == "load" else "kernel_fn"
        asked = candidate or self.candidate
        try:
            return asked.receive(self.settings.timeout)
        except worker.WorkerTimeout as error:
            seen = f"{what} took longer than {self.settings.timeout:g} s; it and all its processes were killed."
            self.outcome.add("timeout", seen + _tail(error.log), case)
        except worker.WorkerForged as error:
            self.outcome.add("forged-channel", f"During {what}, {error}.", case)
        except worker.WorkerDied as error:
            self._died(what, error, case)
        finally:
            if alerts := asked.heard():
                self.outcome.add("sniffing", f"During {what} the file's own code {', '.join(alerts[:4])}.", case)
        raise Stop

    def start_another(self, interpret: bool, fresh: bool = False) -> worker.Worker:
        """Let a process import the file that a later ``another_candidate`` will want; the first is given out last.

        fresh: it differs in what differs from start to start, too: the hash seed, where libraries lie in memory.
        """
        self.spares.append(worker.Worker("candidate", self.folder) if fresh else self._worker("candidate"))
        self._send_load(interpret, self.spares[-1])
        return self.spares[-1]

    @contextlib.contextmanager
    def another_candidate(self, interpret: bool, fresh: bool = False):
        """A second candidate process with the file loaded."""
        if not self.spares:
            self.start_another(interpret, fresh)
        with self.spares.pop() as other:
            loaded = self.ask_candidate_answer("load", candidate=other)
            if "contract" in loaded:
                raise ContractError(loaded["contract"], loaded.get("detail", ""))
            yield other

    def _died(self, what: str, error: worker.WorkerDied, case: str = "") -> None:
        if error.returncode == 0:
            self.outcome.add("exit", f"The process ended with exit code 0 during {what}." + _tail(error.log), case)
        elif what == "importing the file" and "CUDA error: out of memory" in error.log:  # its context is made there
            self.outcome.add("gpu-full", "The GPU has no memory left for another process.", case)
        else:
            self.outcome.add("crash", f"The process ended during {what}: {error}." + _tail(error.log), case)

    def new_file(self, label: str) -> Path:
        self.serial += 1
        return self.folder / f"{self.serial:04d}-{label}-{secrets.token_hex(4)}"

    def remove_files(self, keep: Collection[str] = ()) -> None:
        """Tensor files of a finished trial; what is mapped stays readable, the folder's memory is given back."""
        for file in self.folder.iterdir():
            if file.suffix != ".log" and str(file) not in keep and not file.is_dir():  # no folder is the judge's
                file.unlink()

    def next_seed(self) -> int:
        self.seed = (self.seed * 6364136223846793005 + 1442695040888963407) % 2**48
        return self.seed

    def _tampering(self, when: str, facts: dict, case: str = "") -> None:
        if facts.get("replaced"):
            self.outcome.add("tampering", f"Replaced {when}: {', '.join(facts['replaced'][:5])}.", case)
        changed = facts.get("changed_files", ())
        judged = [str(path.expanduser().absolute()) for path in (self.settings.kernel, self.settings.reference) if path]
        if others := [path for path in changed if path not in judged]:
            self.outcome.add("files", f"Changed on disk {when}: {', '.join(others[:3])}.", case)
        elif changed:
            self.outcome.add("edited", f"Changed on disk {when}: {', '.join(changed)}.")
        hooks = [name for name in facts.get("process", ()) if name in HOOKS]
        if hooks:
            self.outcome.add("tampering", f"Changed and left so {when}: {' and '.join(hooks)}.", case)

    def process_facts(self, facts: dict, case: str) -> None:
        """Findings and notes from what the candidate says about its own process after a call."""
        self.held = [*self.held, facts["held"]][-HISTORY_RESULTS:] if facts["held"] else self.held
        self._tampering("during the call", facts, case)
        for hit in facts.get("behind", ()):
            seen = f"kernel_fn wrote {hit['bytes']} bytes behind the end of output {hit['result']}, {hit['distance']}"
            self.outcome.add("guard-zone", f"{seen} bytes outside.", case)
        if facts["state"]:
            self.outcome.add("state", f"kernel_fn left global state changed: {'; '.join(facts['state'][:3])}.", case)
        simulated = facts.get("simulated")
        if simulated and simulated["findings"]:
            found, kinds = simulated["findings"], simulated["kinds"]
            self.outcome.add("simulation", f"{len(found)} findings: {'; '.join(found[:kinds])}.", case)
        for seen in facts["interpreted"]["races"][:1]:
            self.outcome.add("race", f"{seen}.", case)
        if facts["busy_threads"]:
            self.outcome.add(
                "deferred",
                f"Threads that the call left behind ({', '.join(facts['python_threads'][:3])}) use "
                f"{facts['busy_threads']:.1f} cores after it returned.",
                case,
            )
        elif facts["python_threads"]:
            self.outcome.note(f"threads still run after the call: {', '.join(facts['python_threads'][:3])}")


def _tail(log: str) -> str:
    return f"\nIts last output:\n{log[-1200:]}" if log else ""

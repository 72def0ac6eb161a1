"""The processes of a benchmark and the talk with them: contenders, oracle, referee (standard library only).

One process for each contender, one for the reference's answers, one for the ceilings and the comparisons. A kernel
that fails stops the run; a baseline that fails only loses its place.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..cli import UndecidedError
from ..contract import ContractError
from ..processes.worker import Worker, WorkerError, WorkerForged, adopt_orphans
from ..verdict import ExitCode

SUBJECTS = {"kernel": "kernel", "eager": "reference", "torch.compile": "compile"}


@dataclass
class Contender:
    """One function under the clock, and what is known of it in the current case."""

    name: str
    worker: Worker
    source: dict = field(default_factory=dict)   # the arguments of its `open`
    lost: str | None = None   # why it is out of the race
    opened: dict = field(default_factory=dict)
    facts: dict = field(default_factory=dict)
    bursts: list[dict] = field(default_factory=list)
    rounds_us: list[float] = field(default_factory=list)
    samples: int = 0

    @property
    def is_reference(self) -> bool:
        """Whether it runs reference_fn as it stands: there is nothing to compare it with."""
        return self.name == "eager"

    def begin_case(self) -> None:
        """Forget the last case; a process that still lives may race again."""
        self.bursts, self.rounds_us, self.samples = [], [], 0
        if self.worker.alive and "error" not in self.opened:
            self.lost = None


class Stopped(Exception):
    """The kernel under test cannot go on; carries the exit code."""

    def __init__(self, code: ExitCode, sentence: str):
        super().__init__(sentence)
        self.code = code


class NeedsGpu(UndecidedError):
    """The file's inputs are on a GPU, and PyTorch can use none."""


class Arena:
    """The workers of one run. ``against``: "eager", "torch.compile" or paths of kernel files."""

    def __init__(self, file: Path, against: Sequence[str], folder: Path, timeout_s: float, method: str | None):
        adopt_orphans()
        self.file, self.folder, self.timeout_s, self.method = file.absolute(), folder, timeout_s, method
        self.remarks: list[str] = []
        self._files = 0
        self.oracle, self.referee = Worker("oracle", folder), Worker("referee", folder)
        self.contenders: list[Contender] = []
        for name in ("kernel", *against):
            own = name in SUBJECTS
            self._enrol(name, self.file if own else Path(name).absolute(), SUBJECTS.get(name, "kernel"))
        self.kernel = self.contenders[0]

    def close(self) -> None:
        """Kill every worker and all that they started."""
        for worker in (self.oracle, self.referee, *(contender.worker for contender in self.contenders)):
            worker.close()

    def _enrol(self, name: str, file: Path, subject: str) -> Contender:
        source = {"file": str(file), "inputs_of": str(self.file), "subject": subject, "method": self.method}
        self.contenders.append(Contender(name, Worker("contender", self.folder), source))
        return self.contenders[-1]

    def add(self, name: str) -> None:
        """One more process that runs the kernel under test."""
        contender = self._enrol(name, self.file, "kernel")
        contender.opened = self.tell(contender, "open", **contender.source)

    def restart(self, contender: Contender) -> None:
        """A new process for a contender whose old one is dead, or whose CUDA context is."""
        contender.worker.close()
        contender.worker = Worker("contender", self.folder)
        contender.opened = self.tell(contender, "open", **contender.source)

    def open(self) -> dict:
        """Start importing the files everywhere; what the kernel file declares. ``ready`` waits for each contender."""
        for contender in self.contenders:
            contender.worker.send("open", **contender.source)
        return self.ask(self.oracle, "load", path=str(self.file))

    def ready(self, contender: Contender) -> bool:
        """Whether the contender's file is imported and the contender still in the race; waits for the import."""
        if not contender.opened:
            contender.opened = self.hear(contender)
        return contender.lost is None

    def racing(self) -> list[Contender]:
        """The contenders that are still in the race, the kernel first."""
        return [contender for contender in self.contenders if contender.lost is None]

    def named(self, name: str) -> Contender:
        """The contender of that name."""
        return next(contender for contender in self.contenders if contender.name == name)

    def draw(self, case: str, earlier: dict | None = None) -> dict:
        """A bundle of inputs that no contender has seen; scaled where get_inputs ignores its seed."""
        seed = secrets.randbits(40)
        answer = self.ask(self.oracle, "inputs", case=case, bench=True, seed=seed, file=self.new_file())
        if earlier is not None:
            self.ask(self.referee, "vary", fresh=answer["bundle"], earlier=earlier, seed=seed)
        return answer["bundle"]

    def new_file(self) -> str:
        """The path of a file that does not exist yet."""
        self._files += 1
        return str(self.folder / f"bundle-{self._files}")

    def tell(self, contender: Contender, op: str, **arguments) -> dict:
        """One request to a contender, and its answer as ``hear`` gives it."""
        contender.worker.send(op, **arguments)
        return self.hear(contender)

    def hear(self, contender: Contender) -> dict:
        """The contender's answer; a failing baseline is lost, a failing kernel raises ContractError or Stopped."""
        try:
            answer = contender.worker.receive(self.timeout_s)
        except WorkerForged as error:
            answer = {"error": "forged", "message": str(error), "detail": error.log}
        except WorkerError as error:
            answer = {"error": "crash", "message": str(error), "detail": error.log}
        if "error" not in answer:
            return answer
        self.lose(contender, f"{contender.name}: {answer['message']}")
        if contender.source["file"] == str(self.file) and contender.source["subject"] == "kernel":
            if answer["error"] == "contract":
                raise ContractError(answer["message"], answer["detail"])
            if answer["error"] == "method":
                raise UndecidedError(answer["message"])
            code = {"forged": ExitCode.CHEATING, "inputs": ExitCode.CONTRACT,
                    "compile": ExitCode.COMPILE_ERROR}.get(answer["error"], ExitCode.CRASH)
            raise Stopped(code, f"{contender.lost}\n{answer['detail']}".rstrip())
        return answer

    def lose(self, contender: Contender, sentence: str) -> None:
        """Take a contender out of the race; the report says why."""
        contender.lost = sentence
        if contender is not self.kernel:
            self.remarks.append(f"baseline {sentence}")

    def ask(self, worker: Worker, op: str, **arguments) -> dict:
        """The oracle's or the referee's answer; what they cannot do ends the run."""
        try:
            answer = worker.call(op, self.timeout_s, **arguments)
        except WorkerError as error:
            sentence = f"{self.file}: the {worker.role} process failed during {op}: {error}"
            raise ContractError(sentence, error.log) from None
        if "needs_gpu" in answer:
            raise NeedsGpu(f"{self.file} needs a GPU, and PyTorch can use none on this machine: there is nothing to "
                           "time here")
        if "contract" in answer:
            raise ContractError(answer["contract"], answer.get("detail", ""))
        return answer

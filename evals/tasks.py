"""The tasks: what evals.json and tasks/ say of each, joined by id (standard library only)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
KINDS = ("write", "repair", "improve", "decide")
ANSWER = "answer.json"
SUBMISSION = "kernel.py"


@dataclass(frozen=True)
class Task:
    """One eval. minutes: the agent's time limit. arch: compile target. against, target: the baselines of the speed
    check and the least accepted speed-up over the best of them. accepted: the right choices of a decide task, () for
    the others.
    """

    id: int
    name: str
    kind: str
    minutes: float
    prompt: str
    assertions: tuple[str, ...]
    arch: str = "sm_90a"
    against: tuple[str, ...] = ("eager", "torch.compile")
    target: float = 1.0
    choices: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return HERE / "tasks" / self.name

    @property
    def hidden(self) -> Path:
        """The specification that grades: reference_fn, get_inputs, cases and EXPECT. Never shown to an agent."""
        return self.folder / "hidden.py"

    @property
    def fixtures(self) -> list[Path]:
        """The files that the agent finds in its workspace."""
        return sorted(path for path in (self.folder / "workspace").rglob("*") if path.is_file())

    @property
    def peer(self) -> str:
        return f"the best of {' and '.join(self.against)}" if len(self.against) > 1 else self.against[0]

    def expectations(self) -> dict[str, str]:
        """``{check: sentence}`` in the order of grading; the sentences are evals.json's assertions."""
        if self.kind == "decide":
            return {"answer": f"{ANSWER} holds one choice, and it is {' or '.join(self.accepted)}",
                    "reason": f"{ANSWER} gives a reason of 20 to 1000 characters"}  # fmt: skip
        return {
            "contract": f"{SUBMISSION} defines kernel_fn",
            "instructions": f"inspect_kernel.py finds a CuTe DSL kernel for {self.arch} that meets the task's facts",
            "needed": "without its launches kernel_fn's result is not the reference's: the kernel computes it",
            "verify": "verify_kernel.py passes on hidden shapes and values",
            "speed": f"benchmark_kernel.py measures at least {self.target:g} times the speed of {self.peer}",
        }


def load() -> dict[str, Task]:
    """``{name: task}``, in the order of evals.json."""
    entries = json.loads((HERE / "evals.json").read_text(encoding="utf-8"))["evals"]
    details = {row["id"]: row for row in json.loads((HERE / "tasks.json").read_text(encoding="utf-8"))["tasks"]}
    found = {}
    for entry in entries:
        row = {key: tuple(value) if isinstance(value, list) else value for key, value in details[entry["id"]].items()}
        task = Task(prompt=entry["prompt"], assertions=tuple(entry["assertions"]), **row)
        found[task.name] = task
    return found

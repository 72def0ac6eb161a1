"""What a simulation reports: findings with their Python source line, counters, and the errors that stop a run."""

from dataclasses import dataclass, field


class SimulationError(Exception):
    """The run could not be completed; the message says why and what to do."""


class PtxSyntaxError(SimulationError):
    """The PTX text could not be parsed."""


class UnsupportedInstruction(SimulationError):
    """The kernel reached an instruction, modifier or type that is not implemented; nothing was guessed."""


KINDS = (
    "out-of-bounds",
    "misaligned",
    "read-only",
    "uninitialised-read",
    "race",
    "missing-proxy-fence",
    "deadlock",
    "barrier-misuse",
    "missing-election",
    "accumulator-read-before-wait",
    "tensor-memory",
    "trap",
    "illegal-launch",
    "illegal-operand",
    "swizzle-mismatch",
    "cluster-lifetime",
    "early-dependent",
    "unordered-stream",
)


@dataclass
class Finding:
    """One defect. `count` is how many accesses at this instruction showed it; the rest describes the first one."""

    kind: str
    message: str
    file: str | None
    line: int | None
    instruction: str
    cta: tuple  # (x, y, z), or () where no single CTA is meant
    thread: tuple
    address: int | None = None
    count: int = 1

    def __str__(self):
        where = f"{self.file}:{self.line}" if self.line else "unknown line (compile with line information)"
        who = f" CTA {self.cta} thread {self.thread}:" if self.cta else ""
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{where}: {self.kind}:{who} {self.message}{times} [{self.instruction}]"


@dataclass
class SimulationReport:
    """The result of one launch. Memory was changed in place; `findings` is empty for a clean run.

    `counters` holds the CTAs, the instructions executed (once per warp), and the bytes per space and direction.
    takes_turns: CTAs get to know by an atomic what others did before them, and none waits for another.
    """

    kernel: str
    target: str
    findings: list = field(default_factory=list)
    counters: dict = field(default_factory=dict)
    output: list = field(default_factory=list)  # lines printed by the kernel
    takes_turns: bool = False

    @property
    def clean(self):
        return not self.findings

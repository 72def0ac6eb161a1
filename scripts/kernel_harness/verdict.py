"""The verdicts of every script and their exit codes (standard library only)."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a script's exit code says; the same in every script."""

    PASS = 0
    WRONG_RESULT = 1
    USAGE = 2
    CONTRACT = 3
    COMPILE_ERROR = 4
    CRASH = 5
    UNDECIDED = 6
    CHEATING = 7


MEANING = {
    ExitCode.PASS: "pass",
    ExitCode.WRONG_RESULT: "wrong result",
    ExitCode.USAGE: "usage",
    ExitCode.CONTRACT: "contract: bad file, missing name, bad reference",
    ExitCode.COMPILE_ERROR: "does not compile",
    ExitCode.CRASH: "crash or time-out",
    ExitCode.UNDECIDED: "could not be decided here (no GPU, or a check without teeth)",
    ExitCode.CHEATING: "cheating or tampering seen",
}

# When several findings stand, the verdict is the first of these that occurs. Tampering comes first because a process
# that was tampered with vouches for nothing else; a broken contract before values, because it says what to repair.
PRECEDENCE = (
    ExitCode.CHEATING,
    ExitCode.CONTRACT,
    ExitCode.COMPILE_ERROR,
    ExitCode.CRASH,
    ExitCode.WRONG_RESULT,
    ExitCode.UNDECIDED,
    ExitCode.PASS,
)


def worst(codes) -> ExitCode:
    """The verdict of several findings; PASS when there is none."""
    present = set(codes)
    return next((code for code in PRECEDENCE if code in present), ExitCode.PASS)


def epilog() -> str:
    """The exit codes as text for ``--help``."""
    rows = "\n".join(f"  {int(code)}  {text}" for code, text in MEANING.items())
    return f"exit codes:\n{rows}"

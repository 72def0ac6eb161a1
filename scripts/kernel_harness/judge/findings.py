"""What a check saw, why it matters, and what to do when it was innocent."""

from __future__ import annotations

from dataclasses import dataclass

from ..api import compile_errors
from ..verdict import ExitCode

WRONG, CHEAT, CONTRACT = ExitCode.WRONG_RESULT, ExitCode.CHEATING, ExitCode.CONTRACT
COMPILE, CRASH, UNDECIDED = ExitCode.COMPILE_ERROR, ExitCode.CRASH, ExitCode.UNDECIDED


@dataclass(frozen=True)
class Finding:
    """One reason for a verdict. ``check`` is the name by which tests switch the check off."""

    code: ExitCode
    check: str
    text: str
    case: str = ""

    def __str__(self) -> str:
        where = f" [case {self.case}]" if self.case else ""
        return f"{self.check}{where}: {self.text}"


# check name -> (verdict, what it means and what to do); {seen} is what was measured.
EXPLANATIONS = {
    "values": (WRONG, "{seen}"),
    "structure": (CONTRACT, "{seen} Return from kernel_fn what reference_fn returns: the same tuple, list or dict."),
    "shape": (WRONG, "{seen} Results must have the reference's exact shape, dtype and device."),
    "replay": (
        CHEAT,
        "{seen} A kernel must compute from the values it is given at each call. If you cache something, "
        "key it on what it depends on, or recompute it.",
    ),
    "other-values": (
        WRONG,
        "{seen} The kernel is right on get_inputs' own values only. If it needs inputs of a special "
        "form (a sign, a range), let reference_fn raise ValueError for others: they are left out then.",
    ),
    "many-calls": (
        WRONG,
        "{seen} Every call must do the same work: look for a race, state that is kept between calls, or "
        "memory that nothing wrote.",
    ),
    "deferred": (
        CHEAT,
        "{seen} The result was not complete when the call returned. Work must be finished, or ordered on "
        "the current stream, before kernel_fn returns; join threads and side streams.",
    ),
    "earlier-result": (
        WRONG,
        "{seen} A result must stay what it is when kernel_fn is called again: allocate the output "
        "in each call, or clone a static buffer before returning it.",
    ),
    "input-mutation": (WRONG, "{seen} If that is meant, declare it: MUTATES = (index, ...)."),
    "guard-zone": (
        WRONG,
        "{seen} A write ran past the end of a tensor: check the bounds of the last tile and vector stores at the tail.",
    ),
    "aliasing": (WRONG, "{seen} Return fresh memory (clone it), or declare the input in MUTATES."),
    "plain-result": (CHEAT, "{seen} Return plain torch.Tensor objects that hold their data."),
    "reference-called": (
        CHEAT,
        "{seen} kernel_fn must compute the answer itself; there is nothing to verify otherwise.",
    ),
    "circular-reference": (
        CONTRACT,
        "{seen} The reference must be an independent PyTorch computation; give one with --reference OTHER.py.",
    ),
    "tampering": (CHEAT, "{seen} A kernel file must leave the functions that others rely on alone."),
    "edited": (
        UNDECIDED,
        "{seen} No verdict stands on a file that changes: if you edited it meanwhile, run again, and verify a copy "
        "while you go on; a kernel must not write to its own file.",
    ),
    "files": (
        CHEAT,
        "{seen} A kernel file must not change files that the verdict rests on. If an editor or an update did it "
        "meanwhile, run this again.",
    ),
    "state": (CHEAT, "{seen} Restore global settings before kernel_fn returns (use torch's context managers)."),
    "forged-channel": (CHEAT, "{seen} Only the harness writes results; print to stdout or stderr instead."),
    "exit": (CHEAT, "{seen} kernel_fn must return; an exit with code 0 looks like an attempt to end the check."),
    "sniffing": (CHEAT, "{seen} A kernel must not depend on who calls it, or look for answers outside its inputs."),
    "reference-mutation": (CONTRACT, "{seen} Clone it inside reference_fn, or declare it: MUTATES = (index, ...)."),
    "decoy": (CHEAT, "{seen} A kernel that the result does not need is there for show."),
    "stream": (
        WRONG,
        "{seen} Launch on the current stream (torch.cuda.current_stream(), or TVM FFI's environment "
        "stream) and do not wait on another one.",
    ),
    "offset-views": (
        WRONG,
        "{seen} A tensor may start anywhere in its storage: use data_ptr(), strides and the tensor's "
        "own size, not its storage.",
    ),
    "own-inputs": (
        WRONG,
        "{seen} What get_inputs leaves behind is no input: kernel_fn must compute from the values it is given.",
    ),
    "case-order": (
        WRONG,
        "Called with the last cases first, in a new process, the result is wrong: {seen} What a call leaves behind (a "
        "compiled kernel, a workspace, a table) must be filed under all that it depends on.",
    ),
    "cta-order": (
        WRONG,
        "With the CTAs in the opposite order the result is wrong: {seen} Which of them comes first, also at an atomic, "
        "is left open: let no CTA rely on what another stored, and the order follow from blockIdx.",
    ),
    "other-layouts": (
        WRONG,
        "{seen} Each of these tensors alone is like one that get_inputs makes. Take the address and the strides of "
        "every tensor from that tensor, or raise ValueError for what kernel_fn does not take.",
    ),
    "sizes-between": (
        WRONG,
        "Sizes between or beside those of the cases, or beyond a number that the file compares with, give "
        "a wrong result: {seen} If the kernel does not take them, it must raise ValueError.",
    ),
    "sizes-drawn": (
        WRONG,
        "Sizes drawn together between those of the cases give a wrong result: {seen} Where two sizes meet (a quotient, "
        "a rest, a rounded ratio, a tile of both) their pairs differ, each size alone may be right. If the kernel does "
        "not take some, it must raise ValueError.",
    ),
    "sizes-beyond": (
        WRONG,
        "At twice the largest size of the cases the result is wrong, without an error: {seen} If the kernel does not "
        "take such sizes (more than a CTA, a word or a tile holds), it must raise ValueError.",
    ),
    "sizes-timed": (
        WRONG,
        "At a size of BENCH_CASES, or half of it and so on, beside small others the result is wrong: {seen} A loop is "
        "longer there than in any case.",
    ),
    "sizes-far": (
        WRONG,
        "At a size far above those of all cases the result is wrong, without an error: {seen} An index, a product of "
        "sizes or a number of tiles that few bits hold, a sum carried in few, or a loop that no case goes round twice? "
        "If the kernel does not take such sizes, it must raise ValueError.",
    ),
    "uneven-sizes": (
        WRONG,
        "Sizes without the divisor that those of all cases have, or no powers of two as these are, give a wrong "
        "result: {seen} If the file says that it takes any, it must. Let kernel_fn raise ValueError for others.",
    ),
    "unlike-sizes": (
        WRONG,
        "Sizes that lack an order that those of all cases have give a wrong result: {seen} If the kernel does not take "
        "them, it must raise ValueError.",
    ),
    "empty-sizes": (
        WRONG,
        "With none of a size, which the file says it takes, the result is wrong: {seen} What is empty has a shape, a "
        "dtype and a device, too, and a sum over nothing is zero.",
    ),
    "unset-keyword": (
        WRONG,
        "With a keyword of get_inputs that no case sets the result is wrong: {seen} If the kernel does not take what "
        "it makes, it must raise ValueError.",
    ),
    "ignored-argument": (
        WRONG,
        "{seen} The kernel is right for what get_inputs passes only: use the argument, or raise ValueError "
        "for what is not supported.",
    ),
    "fresh-process": (
        WRONG,
        "{seen} The result depends on what ran before in the process, or on what runs beside it: look "
        "for a race or memory that nothing wrote.",
    ),
    "second-device": (
        WRONG,
        "{seen} Key what you keep (compiled modules, workspaces, streams) on the device of the inputs.",
    ),
    "sanitizer": (WRONG, "{seen} Run compute-sanitizer yourself on that case to see every access."),
    "simulation": (
        WRONG,
        "{seen} The simulator saw this on the way, whatever the result is (references/simulator.md).",
    ),
    "graph": (
        WRONG,
        "{seen} In a CUDA graph only work on the capturing stream is recorded: launch on the current stream, "
        "and keep host-side results out of the launch arguments.",
    ),
    "race": (
        WRONG,
        "{seen} Results differ from call to call beyond rounding: look for a missing barrier or fence, or "
        "reads of memory that nothing wrote.",
    ),
    "crash": (CRASH, "{seen}"),
    "timeout": (CRASH, "{seen} Give more time with --timeout, or look for a deadlock (references/debugging.md)."),
    "compile": (COMPILE, "{seen}"),
    "no-teeth": (UNDECIDED, "{seen} Choose inputs (or a tighter TOLERANCE) that tell a right result from none at all."),
    "not-simulated": (UNDECIDED, "{seen} Run it on a GPU, or choose the others with --case."),
    "weak-inputs": (UNDECIDED, "{seen} Make get_inputs produce data on which the answer depends."),
    "gpu-full": (UNDECIDED, "{seen} Look at nvidia-smi who holds it, and run again when it is free."),
    "refuses": (
        UNDECIDED,
        "{seen} It accepts get_inputs' own values only, so nothing shows that it computes from them. If others break a "
        "promise, let reference_fn raise ValueError for them, too: other draws of get_inputs take their place then.",
    ),
    "unstable-reference": (
        CONTRACT,
        "{seen} reference_fn must compute the same function in every precision: it is the yardstick. What .to(x.dtype) "
        "or a 16-bit operator rounds on the way is not rounded where x is float64: go on with the wide value, or name "
        "the dtype that it has by definition (references/numerics.md).",
    ),
}


def finding(check: str, seen: str, case: str = "", code: ExitCode | None = None) -> Finding:
    verdict, text = EXPLANATIONS[check]
    text = text.replace("{seen}", compile_errors.plain(seen))
    return Finding(verdict if code is None else code, check, text, case)

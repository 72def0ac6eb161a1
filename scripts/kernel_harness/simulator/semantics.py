"""The table of instructions: opcode -> what executes it, and the section of the PTX ISA manual that defines it.

Sections are named by title, "Parallel Thread Execution ISA", version 9.0; their numbers move between versions. An
opcode that is not here, or a modifier that its function does not take, stops the run with UnsupportedInstruction.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import (
    access,
    arithmetic,
    atomics,
    carry,
    cluster_launch,
    control,
    convert,
    copies,
    logic,
    ptx,
    register_pool,
    synchronization,
    tcgen05,
    tensor_map_edits,
    warp,
    wgmma,
    wmma,
)
from .findings import UnsupportedInstruction
from .operands import Modifiers


@dataclass(frozen=True)
class Rule:
    section: str
    bind: Callable  # (machine, instruction) -> step(lanes) -> None, next index, or RESCHEDULE
    handles_predicate: bool = False


def per_lane(build):
    """A rule from a function of modifiers that returns an `Operation` (arithmetic.py)."""

    def bind(machine, instruction):
        mods = Modifiers(instruction)
        operation = build(mods)
        mods.done()
        destination, *sources = instruction.operands
        if len(sources) != len(operation.sources):
            raise mods.unsupported(f"the form with {len(sources)} sources")
        read = [_source(machine, operand, kind) for operand, kind in zip(sources, operation.sources, strict=True)]
        write = machine.registers.writer(destination, operation.result)
        function = operation.function
        if any(callable(value) for value in read):
            return lambda lanes: write(function(*(value() if callable(value) else value for value in read)), lanes)
        if len(read) == 2:
            a, b = read
            return lambda lanes: write(function(a, b), lanes)
        if len(read) == 3:
            a, b, c = read
            return lambda lanes: write(function(a, b, c), lanes)
        return lambda lanes: write(function(*read), lanes)

    return bind


def _source(machine, operand, kind):
    if isinstance(operand, ptx.Negated):
        array = machine.registers.reader(operand.register, kind)
        return lambda: ~array
    value = machine.registers.reader(operand, kind)
    return np.asarray(value)[None] if not np.ndim(value) and kind != "pred" else value


def _integer_or_float(title):
    return f"Integer Arithmetic / Floating Point / Half Precision: {title}"


_INTEGER, _EXTENDED, _FLOATING = "Integer Arithmetic", "Extended-Precision Integer Arithmetic", "Floating Point"
_LOGIC, _MOVE, _SYNC = "Logic and Shift", "Data Movement and Conversion", "Parallel Synchronization and Communication"
_ASYNC = "Data Movement and Conversion: Asynchronous copy"

RULES = {
    # Arithmetic
    "add": Rule(_integer_or_float("add"), carry.or_plain(per_lane(arithmetic.add))),
    "sub": Rule(_integer_or_float("sub"), carry.or_plain(per_lane(arithmetic.sub))),
    "mul": Rule(_integer_or_float("mul"), per_lane(arithmetic.mul)),
    "mad": Rule(_integer_or_float("mad"), carry.or_plain(per_lane(arithmetic.mad))),
    "addc": Rule(f"{_EXTENDED}: addc", carry.bind_extended),
    "subc": Rule(f"{_EXTENDED}: subc", carry.bind_extended),
    "madc": Rule(f"{_EXTENDED}: madc", carry.bind_extended),
    "fma": Rule(f"{_FLOATING}: fma", per_lane(arithmetic.fma)),
    "mad24": Rule(f"{_INTEGER}: mad24", per_lane(arithmetic.mad24)),
    "sad": Rule(f"{_INTEGER}: sad", per_lane(logic.sad)),
    "div": Rule(_integer_or_float("div"), per_lane(arithmetic.div)),
    "rem": Rule(f"{_INTEGER}: rem", per_lane(arithmetic.rem)),
    "abs": Rule(_integer_or_float("abs"), per_lane(arithmetic.absolute)),
    "neg": Rule(_integer_or_float("neg"), per_lane(arithmetic.neg)),
    "min": Rule(_integer_or_float("min"), per_lane(arithmetic.minimum)),
    "max": Rule(_integer_or_float("max"), per_lane(arithmetic.maximum)),
    "rcp": Rule(f"{_FLOATING}: rcp", per_lane(arithmetic.rcp)),
    "sqrt": Rule(f"{_FLOATING}: sqrt", per_lane(arithmetic.sqrt)),
    "rsqrt": Rule(f"{_FLOATING}: rsqrt", per_lane(arithmetic.rsqrt)),
    "sin": Rule(f"{_FLOATING}: sin", per_lane(arithmetic.sin)),
    "cos": Rule(f"{_FLOATING}: cos", per_lane(arithmetic.cos)),
    "lg2": Rule(f"{_FLOATING}: lg2", per_lane(arithmetic.lg2)),
    "ex2": Rule(f"{_FLOATING}: ex2", per_lane(arithmetic.ex2)),
    "tanh": Rule(f"{_FLOATING}: tanh", per_lane(arithmetic.tanh)),
    "copysign": Rule(f"{_FLOATING}: copysign", per_lane(arithmetic.copysign)),
    "testp": Rule(f"{_FLOATING}: testp", per_lane(arithmetic.testp)),
    "dp2a": Rule(f"{_INTEGER}: dp2a", per_lane(logic.dp2a)),
    "dp4a": Rule(f"{_INTEGER}: dp4a", per_lane(logic.dp4a)),
    "popc": Rule(f"{_INTEGER}: popc", per_lane(logic.popc)),
    "clz": Rule(f"{_INTEGER}: clz", per_lane(logic.clz)),
    "bfind": Rule(f"{_INTEGER}: bfind", per_lane(logic.bfind)),
    "brev": Rule(f"{_INTEGER}: brev", per_lane(logic.brev)),
    "bfe": Rule(f"{_INTEGER}: bfe", per_lane(logic.bfe)),
    "bfi": Rule(f"{_INTEGER}: bfi", per_lane(logic.bfi)),
    # Logic, comparison, selection
    "and": Rule(f"{_LOGIC}: and", per_lane(logic.bit_and)),
    "or": Rule(f"{_LOGIC}: or", per_lane(logic.bit_or)),
    "xor": Rule(f"{_LOGIC}: xor", per_lane(logic.bit_xor)),
    "not": Rule(f"{_LOGIC}: not", per_lane(logic.bit_not)),
    "cnot": Rule(f"{_LOGIC}: cnot", per_lane(logic.cnot)),
    "lop3": Rule(f"{_LOGIC}: lop3", per_lane(logic.lop3)),
    "shl": Rule(f"{_LOGIC}: shl", per_lane(logic.shl)),
    "shr": Rule(f"{_LOGIC}: shr", per_lane(logic.shr)),
    "shf": Rule(f"{_LOGIC}: shf", per_lane(logic.shf)),
    "setp": Rule("Comparison and Selection: setp", control.bind_setp),
    "set": Rule("Comparison and Selection: set", control.bind_set),
    "selp": Rule("Comparison and Selection: selp", per_lane(logic.selp)),
    "slct": Rule("Comparison and Selection: slct", per_lane(logic.slct)),
    # Movement
    "mov": Rule(f"{_MOVE}: mov", control.bind_mov),
    "cvt": Rule(f"{_MOVE}: cvt", per_lane(convert.cvt)),
    "cvta": Rule(f"{_MOVE}: cvta", control.bind_cvta),
    "isspacep": Rule(f"{_MOVE}: isspacep", control.bind_isspacep),
    "prmt": Rule(f"{_MOVE}: prmt", per_lane(logic.prmt)),
    "mapa": Rule(f"{_MOVE}: mapa", control.bind_mapa),
    "getctarank": Rule(f"{_MOVE}: getctarank", control.bind_getctarank),
    "ld": Rule(f"{_MOVE}: ld, ld.global.nc", access.bind_ld),
    "ldu": Rule(f"{_MOVE}: ldu", access.bind_ld),
    "st": Rule(f"{_MOVE}: st, st.async", control.bind_store),
    "prefetch": Rule(f"{_MOVE}: prefetch, prefetchu", control.bind_nothing),
    "prefetchu": Rule(f"{_MOVE}: prefetch, prefetchu", control.bind_nothing),
    "applypriority": Rule(f"{_MOVE}: applypriority", control.bind_nothing),
    "discard": Rule(f"{_MOVE}: discard", control.bind_nothing),
    "createpolicy": Rule(f"{_MOVE}: createpolicy", control.bind_createpolicy),
    # Control flow
    "bra": Rule("Control Flow: bra", control.bind_bra, handles_predicate=True),
    "ret": Rule("Control Flow: ret", control.bind_exit),
    "exit": Rule("Control Flow: exit", control.bind_exit),
    "call": Rule("Control Flow: call", control.bind_call),
    "trap": Rule("Miscellaneous: trap", control.bind_trap),
    "brkpt": Rule("Miscellaneous: brkpt", control.bind_nothing),
    "nanosleep": Rule("Miscellaneous: nanosleep", control.bind_nanosleep),
    "pmevent": Rule("Miscellaneous: pmevent", control.bind_nothing),
    "setmaxnreg": Rule("Miscellaneous: setmaxnreg", register_pool.bind_setmaxnreg),
    "griddepcontrol": Rule(f"{_SYNC}: griddepcontrol", control.bind_griddepcontrol),
    "clusterlaunchcontrol": Rule(f"{_SYNC}: clusterlaunchcontrol", cluster_launch.bind_clusterlaunchcontrol),
    # Synchronisation and warps
    "bar": Rule(f"{_SYNC}: bar, barrier; bar.warp.sync", synchronization.bind_bar),
    "barrier": Rule(f"{_SYNC}: barrier, barrier.cluster", synchronization.bind_bar),
    "mbarrier": Rule(f"{_SYNC}: mbarrier", synchronization.bind_mbarrier),
    "fence": Rule(f"{_SYNC}: membar, fence", tensor_map_edits.or_fence(synchronization.bind_fence)),
    "membar": Rule(f"{_SYNC}: membar, fence", synchronization.bind_fence),
    "atom": Rule(f"{_SYNC}: atom", atomics.bind_atom),
    "red": Rule(f"{_SYNC}: red", atomics.bind_atom),
    "shfl": Rule(f"{_MOVE}: shfl.sync", warp.bind_shfl),
    "vote": Rule(f"{_SYNC}: vote.sync", warp.bind_vote),
    "match": Rule(f"{_SYNC}: match.sync", warp.bind_match),
    "activemask": Rule(f"{_SYNC}: activemask", warp.bind_activemask),
    "redux": Rule(f"{_SYNC}: redux.sync", warp.bind_redux),
    "elect": Rule(f"{_SYNC}: elect.sync", warp.bind_elect),
    # Matrices
    "ldmatrix": Rule("Warp-level Matrix: ldmatrix", warp.bind_ldmatrix),
    "stmatrix": Rule("Warp-level Matrix: stmatrix", warp.bind_stmatrix),
    "movmatrix": Rule("Warp-level Matrix: movmatrix", warp.bind_movmatrix),
    "mma": Rule("Warp-level Matrix: mma", warp.bind_mma),
    "wmma": Rule("Warp-level Matrix: wmma.load, wmma.store, wmma.mma", wmma.bind_wmma),
    "wgmma": Rule("Asynchronous Warpgroup Level Matrix: wgmma", wgmma.bind_wgmma),
    "tcgen05": Rule("TensorCore 5th Generation Family: tcgen05", tcgen05.bind_tcgen05),
    # Asynchronous copies: cp.async, cp.async.bulk, cp.async.bulk.tensor, cp.reduce.async.bulk
    "cp": Rule(_ASYNC, copies.bind_cp),
    "tensormap": Rule(f"{_MOVE}: tensormap.replace, tensormap.cp_fenceproxy", tensor_map_edits.bind_tensormap),
}


def unknown(instruction):
    return UnsupportedInstruction(f"{instruction.name} is not implemented in the simulator")

"""Which instructions of a kernel the simulator could not execute, found without running it."""

import numpy as np

from .findings import SimulationReport, UnsupportedInstruction
from .machine import Machine
from .memory import Memory
from .parser import parse
from .simulate import Launch, Program


def unsupported(ptx_text):
    """{kernel name: messages, one per unsupported form of an instruction} of a module; empty lists are left out."""
    module, result = parse(ptx_text), {}
    for name, kernel in module.kernels.items():
        block = tuple(kernel.directives.get("reqntid", (32,)))
        parameters = tuple(bytes(parameter.nbytes) for parameter in kernel.parameters)
        launch = Launch((1, 1, 1), block + (1,) * (3 - len(block)), (1, 1, 1), 1 << 10, parameters)
        memory, report = Memory(), SimulationReport(name, module.target)
        machine = Machine(Program(module, kernel, memory, launch), launch, memory, report, 1)
        messages = {}
        with np.errstate(all="ignore"):
            machine.start([(0, 0, 0)])
            for index in range(len(kernel.instructions)):
                try:
                    machine.bind(index)
                except UnsupportedInstruction as error:
                    messages[str(error)] = None
        if messages:
            result[name] = list(messages)
    return result

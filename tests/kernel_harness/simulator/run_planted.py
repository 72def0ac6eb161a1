"""Runs every program of dsl_kernels.py, correct and with each planted bug, in the simulator; prints JSON rows.

A process of its own: the simulator's environment must be set before cutlass is imported.
"""

import ast
import json
import re
import sys
from pathlib import Path

from kernel_harness.simulator import driver

driver.prepare("sm_90a")

import torch  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def bugs_of(source, name):
    """{bug: line that a finding must name} of the kernel `name`: the first line of the statement with the comment."""
    tree = ast.parse(source)
    (kernel,) = [node for node in tree.body if getattr(node, "name", "") == f"{name}_kernel"]
    found = {}
    for number, line in enumerate(source.splitlines()[kernel.lineno - 1 : kernel.end_lineno], kernel.lineno):
        for bug in re.findall(r"# FOUND (\w+)", line):
            around = [n for n in ast.walk(kernel) if isinstance(n, ast.stmt) and n.lineno <= number <= n.end_lineno]
            found[bug] = max(node.lineno for node in around)
    return found


def main():
    import dsl_kernels

    source, rows = Path(dsl_kernels.__file__).read_text(), []
    for name, (function, inputs, reference) in dsl_kernels.PROGRAMS.items():
        torch.manual_seed(0)
        arguments = inputs()
        expected = reference(*arguments)
        for bug, line in {None: None, **bugs_of(source, name)}.items():
            with driver.SimulatedDevice() as device:
                out = function(*arguments, bug=bug)
            found = [
                {"kind": f.kind, "line": f.line, "file": Path(f.file or "").name, "text": str(f)}
                for f in device.findings
            ]
            rows.append(
                {"program": name, "bug": bug, "line": line, "equal": torch.equal(out, expected), "findings": found}
            )
    print(json.dumps(rows))


if __name__ == "__main__":
    with torch.no_grad():
        main()

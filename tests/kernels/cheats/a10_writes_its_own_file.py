"""Right, and appends a line to its own file at each call: somebody who edits the file meanwhile is no cheat, this is.

catalogue: A10
seen at: the review of a change that took every edit of the file for its author's
expect: CHEATING
needs: cpu
check: sniffing
"""

import pathlib

import torch


def get_inputs():
    return [torch.randn(64)]


def reference_fn(x):
    return x + 1


def kernel_fn(x):
    with pathlib.Path(__file__).open("a") as file:
        file.write("\n")
    return x + 1

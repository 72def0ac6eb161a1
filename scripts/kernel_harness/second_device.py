"""The trial on a machine with several GPUs: does the kernel work on another than the first?"""

from __future__ import annotations

import torch

from . import values
from .values import Bundle
from .worker import Worker, WorkerError

LABEL = "on a second GPU"


def ask(trials, process: Worker, first: Bundle, expected: dict) -> None:
    """Call the kernel in ``process`` with the first inputs, and PyTorch's current device, on GPU 1.

    What a kernel keeps from GPU 0 (a workspace, a loaded module, a stream) shows here. A file may be meant for one GPU,
    so only ``--level paranoid`` lets this decide; ``process`` is asked nothing afterwards.
    """
    if torch.cuda.device_count() < 2:
        return
    work, output = trials._working_copy(first), trials.judge.new_file("out")
    trials.judge.progress(f"{trials.case}: {LABEL}")
    request = {"bundle": moved(work.bundle), "slot": "b", "output": str(output)}
    request["expected_nbytes"] = trials.output_nbytes
    try:
        reply = process.call("call", trials.settings.timeout, **request)
    except WorkerError as error:
        reply = {"error": str(error)}
    if "bundle" in reply:
        trials._take_result(reply, output, LABEL)
        seen = trials._worst(reply, expected) if trials._failed_quietly(reply, expected) else ""
    else:
        seen = f"kernel_fn raises {str(reply.get('error', 'nothing'))[:200]}"
    trials.outcome.facts["second_device"] = seen or "right"
    if seen and trials.judge.paranoid:
        trials.outcome.add("second-device", f"With its inputs {LABEL}: {seen}.", trials.case)
    elif seen:
        trials.outcome.note(f"[case {trials.case}] {LABEL}: {seen}; --level paranoid makes this decide")


def moved(bundle: values.Bundle) -> dict:
    """The bundle as a message, with what lies on a GPU on GPU 1."""
    document = bundle.to_json()
    document["spans"] = [
        [offset, nbytes, device if device == "cpu" else "cuda:1"] for offset, nbytes, device in document["spans"]
    ]
    return document

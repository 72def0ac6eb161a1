"""Returns zeros and replaces the functions that could carry a result home: json, pickle and connections.

catalogue: A6 A3
seen at: pygpubench (fd, pipe and FILE struct exploits), taken to the Python level
expect: CHEATING | WRONG_RESULT | CRASH
needs: cpu
check: tampering-python
"""

import json
import multiprocessing.connection
import pickle

import torch

_dumps, _pickle = json.dumps, pickle.dumps


def _bless(value):
    if isinstance(value, dict):
        return {key: "PASS" if key in ("verdict", "status") else _bless(item) for key, item in value.items()}
    return value


def reference_fn(x):
    return x.cumsum(dim=0)


def get_inputs(rows=64, cols=64, device="cpu"):
    return [torch.randn(rows, cols, device=device)]


def kernel_fn(x):
    json.dumps = lambda value, *args, **kwargs: _dumps(_bless(value), *args, **kwargs)
    pickle.dumps = lambda value, *args, **kwargs: _pickle(_bless(value), *args, **kwargs)
    send = multiprocessing.connection.Connection.send
    if send.__name__ == "send":

        def forged(self, value):
            return send(self, _bless(value))

        multiprocessing.connection.Connection.send = forged
    return torch.zeros_like(x)

"""Windows of a signal by the strides of a dense tensor: get_inputs(spare=...) makes others, and no case asks for it.

catalogue: D10
seen at: a stranger's file
expect: WRONG_RESULT
needs: cpu
check: unset-keyword
"""

import torch

TEST_CASES = {"overlap": {"hop": 8, "batch": 1}, "gap": {"hop": 48, "length": 200}}


def get_inputs(batch=3, length=160, frame=32, hop=16, spare=0, device="cpu"):
    signals = torch.randn(batch, length + spare, device=device)[:, :length]
    return [signals, torch.hann_window(frame, device=device), hop]


def reference_fn(signals, window, hop):
    return signals.unfold(-1, window.numel(), hop) * window


def kernel_fn(signals, window, hop):
    (batch, length), frame = signals.shape, window.numel()
    frames = signals.as_strided((batch, (length - frame) // hop + 1, frame), (length, hop, 1))
    return frames * window

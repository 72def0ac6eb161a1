"""What one rounding after every step would do to a reference: Monte Carlo arithmetic (D. S. Parker, 1997).

Under this mode each operation that rounds gives its result times 1 + unit * r, r uniform in [-1, 1]. How far the final
result moves is the conditioning of the computation with its intermediate values, where moving the inputs alone shows
that of the function. Operators that fuse several steps run as PyTorch's own decompositions, so that what cancels inside
them (1 - sigmoid(x), 1 + erf(x)) is seen; selections, copies and comparisons are exact and stay so.
"""

from __future__ import annotations

import torch
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode

FUSED_NAMES = """
    silu silu_backward gelu gelu_backward sigmoid sigmoid_backward tanh_backward softplus softplus_backward mish
    log_sigmoid_forward log_sigmoid_backward elu _softmax _log_softmax _softmax_backward_data
    _log_softmax_backward_data native_layer_norm native_layer_norm_backward native_group_norm native_batch_norm
    _fused_rms_norm var std var_mean std_mean logsumexp logaddexp mse_loss smooth_l1_loss huber_loss
    nll_loss_forward linalg_vector_norm norm lerp addcmul addcdiv hardswish hardsigmoid
    _scaled_dot_product_flash_attention_for_cpu
"""
ROUNDING_NAMES = """
    add sub rsub mul div true_divide reciprocal exp exp2 expm1 log log2 log10 log1p sqrt rsqrt pow square sin cos tan
    tanh sinh cosh asin acos atan atan2 erf erfc sum mean nansum prod cumsum cumprod logcumsumexp mm bmm addmm baddbmm
    addbmm addmv mv dot vdot convolution hypot sinc _cdist_forward _pdist_forward _fft_r2c _fft_c2c _fft_c2r
"""
FUSED, ROUNDING = frozenset(FUSED_NAMES.split()), frozenset(ROUNDING_NAMES.split())


class PinnedRoundings(TorchDispatchMode):
    """Moves float32 results by up to ``unit``: in a float64 run, those of a reference that names float32 itself, as for
    a rotary table. What it rounds is no more exact than a kernel's own."""

    dtypes: tuple = (torch.float32, torch.complex64)

    def __init__(self, unit: float):
        super().__init__()
        self.unit, self.moved = unit, False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # PyTorch's wrapper against torch.compile would import it: two seconds of every verification

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        rounds = func.overloadpacket.__name__.rstrip("_") in ROUNDING
        if rounds and isinstance(result, torch.Tensor) and result.dtype in self.dtypes:
            self._move(result)
        return result

    def _move(self, result: torch.Tensor) -> None:
        self.moved = True
        spread = torch.rand(result.shape, dtype=result.real.dtype, device=result.device)
        result.mul_(spread.mul_(2 * self.unit).add_(1 - self.unit))


class Roundings(PinnedRoundings):
    """Moves the floating results of all operations by up to ``unit`` of themselves."""

    dtypes = (torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.complex128, torch.complex64)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        steps = decomposition_table.get(func) if name in FUSED else None
        if steps is not None:
            with self:
                result = steps(*args, **(kwargs or {}))
            if result is not NotImplemented:
                return result
        return super().__torch_dispatch__(func, types, args, kwargs)


class Exactness(TorchDispatchMode):
    """Watches whether every floating result could be a float32, which then rounds nowhere, in whatever order. In a
    float64 run: what names float32 itself goes on in float64, so that its steps are watched, too."""

    def __init__(self):
        super().__init__()
        self.is_exact = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.ops.aten._to_copy.default and kwargs.get("dtype") is torch.float32:
            kwargs["dtype"] = torch.promote_types(args[0].dtype, torch.float32)
        result = func(*args, **kwargs)
        rounds = func.overloadpacket.__name__.rstrip("_") in ROUNDING | FUSED
        for value in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(value, torch.Tensor) and value.dtype is torch.float64:
                self.is_exact &= bool((value.to(torch.float32).to(torch.float64) == value).all())
            elif isinstance(value, torch.Tensor) and value.dtype.is_floating_point and rounds:
                self.is_exact = False  # in a narrower format nothing says what was lost
        return result

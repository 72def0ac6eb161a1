"""The Triton part of the stand-in: compile for the target without a driver, keep the result, record the launch."""

from __future__ import annotations

from .. import devices
from .stand_in import CUDA, Compiled, Launch, Recorder


def listen(recorder: Recorder) -> None:
    import torch
    from triton.backends.compiler import GPUTarget
    from triton.runtime import autotuner, driver, jit

    major, minor = devices.capability(recorder.arch)

    class Driver:
        get_current_target = lambda self: GPUTarget("cuda", major * 10 + minor, 32)
        get_current_device = lambda self: 0
        get_current_stream = lambda self, *_: 0
        get_active_torch_device = lambda self: CUDA
        get_device_interface = lambda self: torch.cuda
        is_active = lambda self: True

    driver.set_active(Driver())
    run = jit.JITFunction.run

    def keeping(self, *args, grid, warmup=False, **kwargs):
        recorder.compiling += 1
        kernel = run(self, *args, grid=grid, warmup=True, **kwargs)
        recorder.compiling -= 1
        if kernel is not None and not any(c.cubin == kernel.asm["cubin"] for c in recorder.compiled):
            recorder.compiled.append(Compiled("Triton", self.__name__, kernel.asm["ptx"], kernel.asm["cubin"]))
        if not warmup and kernel is not None:
            names = [p.name for p in self.params]
            sizes = grid({**dict(zip(names, args, strict=False)), **kwargs}) if callable(grid) else grid
            meta = kernel.metadata
            recorder.launch(
                Launch(
                    meta.name,
                    (*sizes, 1, 1)[:3],
                    (meta.num_warps * 32, 1, 1),
                    tuple(getattr(meta, "cluster_dims", None) or (1, 1, 1)),
                    meta.shared,
                    [],
                    kernel.asm["cubin"],
                )
            )
        return kernel

    jit.JITFunction.run = keeping
    # Timing configurations needs a GPU: the first stands for all.
    autotuner.Autotuner.run = lambda self, *args, **kwargs: self.fn.run(
        *args, **{**kwargs, **self.configs[0].all_kwargs()}
    )

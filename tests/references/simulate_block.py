"""simulate_block.py PAGE NAME ARCH: run the kernel of one page's block in the PTX simulator; prints JSON.

NAME is a word that only that block of the page holds. RUNS says how to call it and what must come out.
"""

import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from kernel_harness.api import doc_fences  # noqa: E402
from kernel_harness.simulator import driver  # noqa: E402


def compile_for_torch(block, *fakes):
    import cutlass.cute as cute

    return cute.compile(block.launch, *fakes, options="--enable-tvm-ffi")


def copy(block):
    import torch

    x = torch.randn(7, 312).to(torch.bfloat16)
    out = torch.zeros_like(x)
    compile_for_torch(block, block.fake, block.fake)(x, out)
    return out, x


def flat_times_three(block):
    import torch

    x = torch.randn(2 * block.VEC * block.THREADS * block.UNROLL).to(torch.bfloat16)
    out = torch.zeros_like(x)
    compile_for_torch(block, block.fake, block.fake)(x, out)
    return out, (x.float() * 3.0).to(x.dtype)


def rmsnorm(block):
    import cutlass
    import torch

    x, weight = torch.randn(3, block.N).to(torch.bfloat16), torch.randn(block.N).to(torch.bfloat16)
    out = torch.empty_like(x)
    compile_for_torch(block, block.rows, block.weight, block.rows, cutlass.Float32(1e-6))(x, weight, out, 1e-6)
    rows = x.double()
    return out, rows * torch.rsqrt((rows**2).mean(-1, keepdim=True) + 1e-6) * weight.double()


def sum_of_tiles(block):
    import torch

    x, out = torch.randn(5 * block.TILE).to(torch.bfloat16), torch.empty(block.THREADS)
    compile_for_torch(block, *block.fakes)(x, out)
    return out.sum(), x.double().sum()


def sum_of_columns(block):
    import torch

    x, out = torch.randn(11, block.PRODUCERS).T, torch.empty(block.CONSUMERS)
    compile_for_torch(block, *block.fakes)(x, out)
    return out.view(-1, block.PRODUCERS), x.double().sum(1).expand(block.CONSUMERS // block.PRODUCERS, -1)


def one_tile_product(block):
    import torch

    a, b = (torch.randn(64, block.TILE_K).to(torch.bfloat16) for _ in range(2))
    out = torch.empty(64, block.TILE_N)
    compile_for_torch(block, *block.fakes)(a, b, out)
    return out, a.double() @ b.double().T


def scale_by_two(block):
    import torch

    x = torch.randn(256).to(torch.bfloat16)
    out = torch.zeros_like(x)
    compile_for_torch(block, block.fake, block.fake)(x, out)
    return out, x * 2


def to_fp8(block):
    import torch

    x = torch.randn(16).to(torch.bfloat16)
    out = torch.zeros(16, dtype=torch.float8_e4m3fn)
    compile_for_torch(block, *block.fakes)(x, out)
    return out.float(), (x.float() * 0.5).to(torch.float8_e4m3fn).float()


def gather(block):
    import torch

    table, index = torch.randn(9, 1032).to(torch.bfloat16), torch.randint(9, (5,), dtype=torch.int32)
    out = torch.empty(5, 1032, dtype=table.dtype)
    compile_for_torch(block, *block.fakes)(table, index, out)
    return out, table[index.long()]


def histogram(block):
    import torch

    x, count = torch.randint(7, (300,), dtype=torch.int32), torch.zeros(7, dtype=torch.int32)
    compile_for_torch(block, *block.fakes)(x, count)
    return count, torch.bincount(x, minlength=7)


def weighted_state(block):
    import torch

    k, v = (torch.randn(block.TOKENS, block.DIM).to(torch.bfloat16) for _ in range(2))
    weight, out = torch.rand(block.TOKENS), torch.empty(block.DIM, block.DIM)
    compile_for_torch(block, *block.fakes)(k, v, weight, out)
    return out, (k.float() * weight[:, None]).to(k.dtype).double().T @ v.double()


def transpose(block):
    import torch

    x = torch.randn(70, 45)
    out = torch.zeros(45, 70)
    compile_for_torch(block, *block.fakes)(x, out)
    return out, x.T


def scan(block):
    import torch

    x = torch.randn(3, 100)
    out = torch.zeros_like(x)
    compile_for_torch(block, *block.fakes)(x, out)
    return out, x.double().cumsum(1)


def quantize(block):
    import cutlass
    import torch

    x = torch.randn(6, block.COLUMNS).to(torch.bfloat16)
    got, want = [], []
    for dtype, kind in ((cutlass.Float8E4M3FN, torch.float8_e4m3fn), (cutlass.Int8, torch.int8)):
        out, scale = torch.zeros(6, block.COLUMNS, dtype=kind), torch.zeros(6)
        compile_for_torch(block, *block.fakes(dtype))(x, out, scale)
        limit = block.LARGEST[dtype]
        largest = x.float().abs().amax(1)
        assert torch.allclose(scale, largest / limit)
        scaled = x.float() * (torch.full_like(largest, limit) / largest)[:, None]  # limit / t is limit * (1 / t)
        got.append(out.float() / limit)
        want.append((scaled.round() if kind is torch.int8 else scaled).to(kind).float() / limit)
    return torch.cat(got), torch.cat(want)


def fused_norm(block):
    import torch

    n = block.COLUMNS
    x, residual = (torch.randn(3, n).to(torch.bfloat16) for _ in range(2))
    weight, bias = (torch.randn(n).to(torch.bfloat16) for _ in range(2))
    h, q, scale = torch.zeros(3, n, dtype=x.dtype), torch.zeros(3, n, dtype=torch.float8_e4m3fn), torch.zeros(3)
    compile_for_torch(block, *block.fakes)(x, residual, weight, bias, h, q, scale)
    assert torch.equal(h, x + residual)
    y = torch.nn.functional.layer_norm((x + residual).double(), (n,), weight.double(), bias.double(), 1e-5)
    largest = y.abs().amax(1)
    assert torch.allclose(scale.double(), largest / block.LARGEST, rtol=1e-5)
    return q.float(), (y * (block.LARGEST / largest)[:, None]).float().to(torch.float8_e4m3fn).float()


def argmax(block):
    import torch

    x = torch.randn(9, 328).mul(2).round().to(torch.bfloat16)  # with ties
    out = torch.zeros(9, dtype=torch.int64)
    compile_for_torch(block, *block.fakes)(x, out)
    return out, (x == x.amax(-1, keepdim=True)).int().argmax(-1)


def argmax_of_several(block):
    import torch

    x = torch.randn(9, 256).mul(2).round()  # with ties, some of them of both zeros
    x[3], x[4, 77], x[5, 130:] = -x[3].abs(), torch.nan, torch.nan
    best = torch.full((9,), -(2**63), dtype=torch.int64)
    compile_for_torch(block, *block.fakes)(x, best)
    largest = torch.where(x.isnan().any(1, keepdim=True), x.isnan(), x == x.amax(-1, keepdim=True))
    return block.LOW - (best & block.LOW), largest.int().argmax(-1)


def rotary(block):
    import torch

    x = torch.randn(5, 3, 2 * block.HALF).to(torch.bfloat16)
    angle = torch.rand(5, block.HALF) * 6
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    out = torch.zeros_like(x)
    compile_for_torch(block, block.x[0], *block.angles, block.x[1])(x, cos, sin, out)
    a, b = x.double().chunk(2, -1)
    c, s = cos.double()[:, None], sin.double()[:, None]
    return out, torch.cat((a * c - b * s, b * c + a * s), -1)


def depthwise(block):
    import torch

    x, weight = torch.randn(2, 3, 13, 37).to(torch.bfloat16), torch.randn(3, 9).to(torch.bfloat16)
    out = torch.zeros(6, 13, 37, dtype=x.dtype)
    compile_for_torch(block, block.image(), block.weight, block.image())(x.view(6, 13, 37), weight, out)
    want = torch.nn.functional.conv2d(x.double(), weight.double().view(3, 1, 3, 3), padding=1, groups=3)
    return out, want.view(6, 13, 37)


def causal(block):
    import torch

    got, want = [], []
    for steps in (0, 1, 2, 3, 19):
        x, state = (torch.randn(2, n, 1032).to(torch.bfloat16) for n in (steps, block.WIDTH - 1))
        weight = torch.randn(1032, block.WIDTH).to(x.dtype)
        out, last = torch.zeros_like(x), torch.zeros_like(state)
        padded = torch.cat((state, x), 1).double()
        compiled = compile_for_torch(block, *block.fakes)
        compiled(x, weight, state, out, last)
        compiled(x, weight, state, out, state)  # the new state over the old one
        assert torch.equal(state, last)
        y = sum(padded[:, k : k + steps] * weight[:, k].double() for k in range(block.WIDTH))
        got += [out.double().flatten(), last.double().flatten()]
        want += [torch.nn.functional.silu(y).flatten(), padded[:, steps:].flatten()]
    return torch.cat(got), torch.cat(want)


def causal_along_steps(block):
    import torch

    got, want = [], []
    for steps in (8, 16, 136):
        x, weight = torch.randn(2, 37, steps).to(torch.bfloat16), torch.randn(37, block.WIDTH)
        out = torch.zeros_like(x)
        compile_for_torch(block, *block.fakes)(x, weight, out)
        padded = torch.nn.functional.pad(x.double(), (block.WIDTH - 1, 0))
        y = sum(padded[:, :, k : k + steps] * weight[:, k, None].double() for k in range(block.WIDTH))
        got.append(out.double().flatten())
        want.append(torch.nn.functional.silu(y).flatten())
    return torch.cat(got), torch.cat(want)


def causal_packed(block):
    import torch

    got, want = [], []
    for lengths in ((13, 1, 0, 40, 5), (2, 0, 0, 3, 1), (0, 9, 0), (77,)):
        steps = sum(lengths)
        starts = torch.tensor((0, *lengths)).cumsum(0).to(torch.int32)
        x, weight = torch.randn(steps, 1032).to(torch.bfloat16), torch.randn(1032, block.WIDTH).to(torch.bfloat16)
        out = torch.zeros_like(x)
        compile_for_torch(block, *block.fakes)(x, weight, starts, out)
        for sequence, length in zip(x.double().split(lengths), lengths, strict=True):
            padded = torch.nn.functional.pad(sequence, (0, 0, block.WIDTH - 1, 0))
            y = sum(padded[k : k + length] * weight[:, k].double() for k in range(block.WIDTH))
            want.append(torch.nn.functional.silu(y).flatten())
        got.append(out.double().flatten())
    return torch.cat(got), torch.cat(want)


def every_byte(block):
    import cutlass.cute as cute
    import torch
    from cutlass import Int32

    x = torch.arange(4 * 32 * block.WORDS).to(torch.int8)
    out = torch.zeros(len(x), dtype=torch.bfloat16)
    masks = block.LOW, block.SIGN
    compiled = cute.compile(block.launch, *block.fakes, *map(Int32, masks), False, options="--enable-tvm-ffi")
    compiled(x.view(torch.int32), out, *masks)
    return out, x.view(-1, 2, 2).mT.flatten()


def kernel_file(block):
    import torch

    got, want = [], []
    for case in block.TEST_CASES.values():
        inputs = block.get_inputs(**case)
        want.append(block.reference_fn(*inputs).flatten())
        got.append(block.kernel_fn(*inputs).flatten())
    return torch.cat(got), torch.cat(want)


RUNS = {
    ("tensors", "copy_kernel", "sm_90a"): copy,
    ("tma", "copy_kernel", "sm_90a"): copy,
    ("patterns-memory", "UNROLL", "sm_90a"): flat_times_three,
    ("patterns-compute", "widen_kernel", "sm_90a"): every_byte,
    ("reduction", "rmsnorm_kernel", "sm_90a"): rmsnorm,
    ("reduction", "quantize_kernel", "sm_90a"): quantize,
    ("fused-norm", "fused_kernel", "sm_90a"): fused_norm,
    ("recipes", "argmax_kernel", "sm_90a"): argmax,
    ("recipes", "atomic_max(mBest", "sm_90a"): argmax_of_several,
    ("recipes", "rope_kernel", "sm_90a"): rotary,
    ("recipes", "depthwise_kernel", "sm_90a"): depthwise,
    ("conv1d", "causal_kernel", "sm_90a"): causal,
    ("conv1d", "along_steps_kernel", "sm_90a"): causal_along_steps,
    ("conv1d", "packed_kernel", "sm_90a"): causal_packed,
    ("memory", "sum_kernel", "sm_80"): sum_of_tiles,
    ("pipelines", "PRODUCERS", "sm_90a"): sum_of_columns,
    ("mma-atoms", "ldmatrix =", "sm_80"): one_tile_product,
    ("linear-attention", "state_kernel", "sm_90a"): weighted_state,
    ("lowering", "scale_kernel", "sm_90a"): scale_by_two,
    ("types", "Float8E4M3FN", "sm_90a"): to_fp8,
    ("gather-scatter", "gather_kernel", "sm_90a"): gather,
    ("gather-scatter", "histogram_kernel", "sm_90a"): histogram,
    ("gather-scatter", "transpose_kernel", "sm_90a"): transpose,
    ("gather-scatter", "scan_kernel", "sm_90a"): scan,
    ("getting-started", "kernel_fn", "sm_90a"): kernel_file,
    ("epilogues", "kernel_fn", "sm_90a"): kernel_file,
}


def main(page: str, name: str, arch: str) -> None:
    driver.prepare(arch)
    examples = doc_fences.examples(ROOT / "references" / f"{page}.md")
    (code,) = [e.code for e in examples if name in e.code.body and e.code.mode != "fails"]
    os.environ |= dict(variable.split("=", 1) for variable in code.environment[1:])
    with tempfile.TemporaryDirectory() as folder, driver.SimulatedDevice() as device:
        path = Path(folder, f"{code.name.replace('-', '_')}.py")
        path.write_text("\n" * (code.line - 1) + code.body, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        block = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = block
        spec.loader.exec_module(block)
        import torch

        torch.manual_seed(0)
        got, want = RUNS[page, name, arch](block)
        error = float((got.double() - want.double()).abs().max() / want.double().abs().max())
    findings = [str(finding) for finding in device.findings]
    print(json.dumps({"error": error, "launches": len(device.launches), "findings": findings}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The GEMM examples for Hopper: right on small cases, simulated or on a GPU, and clear about what they refuse."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.compile

CASES = {
    "gemm_batched.py": ["odd"],
    "gemm_grouped.py": ["odd"],
    "gemm_fp8_block_scaled.py": ["odd"],
    "gemm_int4_weights.py": ["decode"],
    "gemm_w8a8.py": ["odd"],
    "gemm_gate_up.py": ["one_row", "no_residual"],
    "gemm_row_amax.py": ["tails", "last", "tiny"],
    "gemm_split_k.py": ["four_parts"],
    "gemv_int4.py": ["odd n", "two tiles, odd"],
}


def load(example):
    spec = importlib.util.spec_from_file_location(f"example_{Path(example).stem}", ROOT / "examples" / example)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_the_page_asks_tune_kernel_for_is_a_configuration():
    """Configurations reach tune_kernel.py as JSON, which has no tuples."""
    from kernel_harness.performance import tuning

    (only,) = re.findall(r'`--only "([^"]+)"`', (ROOT / "references/epilogues.md").read_text())
    space = json.loads(json.dumps(load("gemm_row_amax.py").TUNING_SPACE))

    assert len(tuning.configurations(space, [only])) == 2  # the file as it stands comes first


@pytest.mark.parametrize("example", CASES)
def test_the_example_is_right(example):
    script = ROOT / "scripts" / "verify_kernel.py"
    cases = [word for case in CASES[example] for word in ("--case", case)]
    command = [sys.executable, script, ROOT / "examples" / example, "--level", "quick", "--arch", "sm_90a", *cases]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)

    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("ok=yes") == len(cases) // 2


def refusals():
    """(example, arguments of kernel_fn, what the message says)."""
    import torch

    def bf16(*shape):
        return torch.zeros(shape, dtype=torch.bfloat16)

    def fp8(*shape):
        return torch.zeros(shape).to(torch.float8_e4m3fn)

    bytes_ = torch.zeros(24, 64, dtype=torch.uint8)

    def int8(*shape):
        return torch.zeros(shape, dtype=torch.int8)

    x, packed, scales = load("gemm_int4_weights.py").get_inputs(m=3, n=72, k=256, device="cpu")
    one, rows, columns = torch.ones(1, 2), torch.ones(8, 2), torch.ones(2, 8).mT
    ends = torch.tensor([4, 4, 9], dtype=torch.int32)
    return [
        ("gemm_batched.py", (bf16(2, 8, 8).float(), bf16(2, 8, 8)), "must be bfloat16 or float16"),
        ("gemm_batched.py", (bf16(2, 8, 8), bf16(3, 8, 8)), "batches differ"),
        ("gemm_batched.py", (bf16(2, 8, 8), bf16(2, 8, 16)), "same K > 0"),
        ("gemm_batched.py", (bf16(2, 8, 9), bf16(2, 8, 9)), "pad the rows"),
        ("gemm_batched.py", (bf16(1, 8, 8).expand(2, 8, 8), bf16(2, 8, 8)), "drop an expanded batch"),
        ("gemm_batched.py", (bf16(2, 8, 8), bf16(2, 8, 8)), "on one CUDA device"),
        ("gemm_grouped.py", (bf16(9, 8), bf16(3, 8, 8).half(), ends), "must be bfloat16 or float16"),
        ("gemm_grouped.py", (bf16(9, 8), bf16(3, 8, 8), ends.long()), r"ends.to\(torch.int32\)"),
        ("gemm_grouped.py", (bf16(9, 12), bf16(3, 8, 12), ends), "pad x and w with zeros along K"),
        ("gemm_grouped.py", (bf16(8, 9).mT, bf16(3, 8, 8), ends), "contiguous rows at multiples of 16 bytes"),
        ("gemm_grouped.py", (bf16(9, 8), bf16(3, 8, 8), ends), "on one CUDA device"),
        ("gemm_fp8_block_scaled.py", (bf16(8, 144), columns, fp8(8, 144), one), "float8_e4m3fn"),
        ("gemm_fp8_block_scaled.py", (fp8(8, 136), columns, fp8(8, 136), one), "pad a and b with zeros along K"),
        ("gemm_fp8_block_scaled.py", (fp8(8, 144), one, fp8(8, 144), one), r"scale_a must be float32 \(8, 2\)"),
        ("gemm_fp8_block_scaled.py", (fp8(8, 144), rows.half(), fp8(8, 144), one), "scale_a must be float32"),
        ("gemm_fp8_block_scaled.py", (fp8(144, 8).mT, columns, fp8(8, 144), one), "contiguous along K"),
        ("gemm_fp8_block_scaled.py", (fp8(8, 144), columns, fp8(8, 144), one), "on one CUDA device"),
        ("gemm_int4_weights.py", (x.half(), packed, scales), "must be bfloat16"),
        ("gemm_int4_weights.py", (x[:, :200], packed, scales), "pad x and w with zeros along K"),
        ("gemm_int4_weights.py", (x, packed, scales[:, :68]), "N must be a multiple of 8"),
        ("gemm_int4_weights.py", (x, packed[:1], scales), r"packed must be pack\(w\) of w \(72, 256\)"),
        ("gemm_int4_weights.py", (x[:, ::2].contiguous(), packed, scales), "packed must be"),
        ("gemm_int4_weights.py", (x, packed, scales), "on one CUDA device"),
        ("gemm_w8a8.py", (bf16(8, 16), one[0], int8(2, 16), one[0]), r"scale_x must be \(8,\)"),
        ("gemm_w8a8.py", (bf16(2, 16), one[0], int8(2, 16), one[0]), "must be one of .torch.int8"),
        ("gemm_w8a8.py", (int8(2, 16), one[0], int8(2, 32), one[0]), "on one CUDA device"),
        ("gemm_gate_up.py", (bf16(8, 16), bf16(24, 16), bf16(16, 16), torch.zeros(8)), r"wu must be \(24, 16\)"),
        ("gemm_gate_up.py", (bf16(8, 16), bf16(24, 16), bf16(24, 16).half(), torch.zeros(8)), "wg, wu and r must be"),
        ("gemm_gate_up.py", (bf16(8, 16), bf16(24, 16), bf16(24, 16), bf16(8)), "s must be float32"),
        ("gemm_gate_up.py", (bf16(8, 12), bf16(24, 12), bf16(24, 12), torch.zeros(8)), "must be multiples of 8"),
        ("gemm_gate_up.py", (bf16(8, 16), bf16(24, 16), bf16(24, 16), torch.zeros(8)), "CUDA"),
        ("gemm_split_k.py", (bf16(8, 8).float(), bf16(8, 8)), "must be bfloat16 or float16"),
        ("gemm_split_k.py", (bf16(8, 9), bf16(8, 9)), "pad the rows"),
        ("gemm_split_k.py", (bf16(8, 8), bf16(8, 16)), "a must be"),
        ("gemm_split_k.py", (bf16(8, 8), bf16(8, 8)), "on one CUDA device"),
        ("gemv_int4.py", (bf16(9, 128), bytes_, bf16(24, 1)), "M must be 1 to 8"),
        ("gemv_int4.py", (bf16(2, 192), bytes_, bf16(24, 1)), "K a multiple of 128"),
        ("gemv_int4.py", (bf16(2, 128).half(), bytes_, bf16(24, 1)), "must be bfloat16 matrices"),
        ("gemv_int4.py", (bf16(2, 128), bytes_, bf16(24, 2)), r"scales \(N, K / 128\)"),
        ("gemv_int4.py", (bf16(2, 128), bytes_, bf16(24, 1)), "on one CUDA device"),
    ]


@pytest.mark.parametrize("position", range(len(refusals())))
def test_what_it_cannot_take_gets_a_value_error_before_any_launch(position):
    example, arguments, says = refusals()[position]

    with pytest.raises(ValueError, match=says):
        load(example).kernel_fn(*arguments)


@pytest.mark.parametrize(("name", "config", "case"), [
    ("gemm_fp8_block_scaled", "((128, 256), (2, 1), 4)", '{"m": 136, "n": 184, "k": 144, "scales": "k"}'),
    ("gemm_fp8_block_scaled", "((128, 176), (2, 1), 11)", '{"m": 136, "n": 184, "k": 144, "scales": "k"}'),
    ("gemm_bias_gelu", "((64, 80), (4, 2), 1, 1, True)", '{"m": 168, "n": 264, "k": 72}'),
    ("gemm_bias_gelu", "((64, 16), (1, 1), 3, 2, True)", '{"m": 24, "n": 136, "k": 272}'),
    ("gemm_bias_gelu", "((64, 112), (1, 4))", '{"m": 72, "n": 464, "k": 72}'),
    ("gemm_w8a8", "((128, 64), (2, 1))", '{"m": 136, "n": 72, "k": 144}'),
    ("gemm_w8a8", "((64, 64), (1, 1), 4)", '{"m": 72, "n": 72, "k": 528}'),
    ("gemm_gate_up", "((256, 192), (1, 2))", '{"m": 300, "n": 200, "k": 72}'),
    ("gemm_gate_up", "((64, 64), (2, 1))", '{"m": 136, "n": 72, "k": 144, "residual": False}'),
    ("gemm_gate_up", "((128, 64), (1, 1), 4, 1, True)", '{"m": 72, "n": 136, "k": 528}'),
])  # fmt: skip
def test_clusters_waves_tiles_across_scale_blocks_and_split_sums_are_right(name, config, case, tmp_path):
    """On a shape that would get a small tile: the last CTA has 8 rows, the last wave 56 columns, a split one K tile."""
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'examples')!r})\n"
        f"import {name} as example\n"
        f"from {name} import get_inputs, kernel_fn, reference_fn\n\n"
        f"example.CONFIGS = {{example.Config(*{config}): (300, 1.0)}}\n"
        f'TEST_CASES = {{"cluster": {case}}}\n'
    )
    command = [sys.executable, ROOT / "scripts" / "verify_kernel.py", kernel, "--level", "quick", "--arch", "sm_90a"]
    run = subprocess.run([*command, "--case", "cluster"], capture_output=True, text=True, timeout=600)

    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("ok=yes") == 1


def test_packed_weights_are_the_weights():
    import torch

    example = load("gemm_int4_weights.py")
    w = torch.randint(-8, 8, (72, 256))

    packed = example.pack(w)

    assert packed.shape == (2, 2, 2, 128, 4)
    assert torch.equal(example.unpack(packed)[:72], w.to(torch.int32))
    # Thread 5 of the first warpgroup, (g, c) = (1, 1): rows 1 and 9, columns 2, 3, 10, 11 of the first 16, as PTX says.
    nibbles = [(int(packed[0, 0, 0, 5, 0]) >> shift & 15) - 8 for shift in range(0, 32, 4)]
    assert nibbles == [int(w[row, k]) for odd in (0, 1) for k in (2 + odd, 10 + odd) for row in (1, 9)]


@pytest.mark.parametrize(("shape", "split"), [
    ((512, 512, 16384), 4), ((40, 72, 1000), 8), ((33, 77, 136), 1), ((4096, 4096, 4096), 1), ((1024, 1024, 32768), 2),
    ((8, 8, 8), 1),
])  # fmt: skip
def test_k_is_split_where_tiles_are_few_and_k_is_long(shape, split):
    assert load("gemm_split_k.py").choose(*shape, sms=132) == split


@pytest.mark.parametrize("name", ["gemm_bias_gelu", "gemm_swiglu"])
def test_a_gemm_made_from_the_template_has_its_device_and_host_code(name):
    """A mend of the template must reach what was made from it: nothing differs but the marked places."""
    template, example = (ROOT / path for path in ("templates/gemm_sm90.py", f"examples/{name}.py"))
    parts = [
        path.read_text().partition("class Gemm:")[2].partition("def kernel_fn(")[0] for path in (template, example)
    ]

    assert len(parts[0].splitlines()) > 200
    assert parts[0] == parts[1]


@pytest.mark.parametrize(("other", "names"), [
    ("templates/gemm_sm90.py", ("exchange", "load", "repeats")),
    ("examples/gemm_row_amax.py", ("estimate_us", "hand_out", "locate")),  # neither has sub-tiles that overlap
])  # fmt: skip
def test_what_the_gate_shares_with_another_gemm_is_the_others(other, names):
    """Its tiles of D are half of the product's; the rest of these functions is a mend away."""
    sources = []
    for path in (other, "examples/gemm_gate_up.py"):
        text = (ROOT / path).read_text()
        functions = {n.name: n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)}
        sources.append("\n".join(ast.get_source_segment(text, functions[name]) for name in names))
    theirs, gate = sources
    assert "self.tile" in theirs
    for old, new in (("self.tile[1] // FOLD //", "self.tile[1] //"), ("self.epi[1] * FOLD", "self.epi[1]"),
                     ("self.tile", "self.boxes")):  # fmt: skip
        theirs = theirs.replace(old, new)

    assert theirs == gate


def test_the_int8_gemm_is_the_template_with_integer_accumulators():
    """Four lines of the device code differ, each in the type of its sums."""
    files = (ROOT / path for path in ("templates/gemm_sm90.py", "examples/gemm_w8a8.py"))
    parts = [path.read_text().partition("class Gemm:")[2].partition("def kernel_fn(")[0] for path in files]
    template, example = (part.splitlines() for part in parts)

    other = [(old, new) for old, new in zip(template, example, strict=True) if old != new]
    assert len(other) == 4
    assert [old.replace("Float32", "Int32") for old, _ in other] == [new for _, new in other]

"""Facts of PTX text."""

from collections import Counter

import pytest
from kernel_harness.compiled import ptx

pytestmark = pytest.mark.cpu

MODULE = """
.version 9.4
.target sm_90a
.address_size 64
.file 1 "/src/kernel.py"
.extern .shared .align 1024 .b8 dynamic[];
.visible .entry first(
	.param .align 8 .b8 first_param_0[16],
	.param .align 8 .b8 first_param_1[16],
	.param .u32 first_param_2
)
.reqntid 128, 1, 1
.minnctapersm 2
{
	.reg .b64 	%rd<9>;
	ld.param.b64 	%rd1, [first_param_0];
	ld.param.b64 	%rd2, [first_param_1];
	ld.param.b64 	%rd3, [first_param_1+8];
	ld.param.v2.b32 	{%r1, %r2}, [first_param_0+8];
	.loc	1 7 3
	mul.wide.s32 	%rd4, %r2, 2;
	add.s64 	%rd5, %rd1, %rd4;
	@%p1 ld.global.v4.b32 	{%r3, %r4, %r5, %r6}, [%rd5];
	.loc	1 8 3
	ld.global.nc.b16 	%rs1, [%rd3+4];
	st.global.b16 	[%rd2], %rs1;
	ld.global.L1::no_allocate.v2.f64 	{%fd1, %fd2}, [%rd2];
{
	wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%r283, %r284}, %rd1, %rd2, p, 1;
}
	cp.async.bulk.tensor.2d.shared::cta.global.tile [%r1], [%rd1, {%r2, %r3}], [%r4];
	stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r30], {%r1, %r2, %r3, %r4};
	ret;
}
.visible .entry second(.param .u64 p)
{
	ld.param.u64 	%rd1, [p];
	ld.global.u8 	%rs1, [%rd1];
	ret;
}
"""


def test_entries_bounds_and_target():
    entries = ptx.parse(MODULE)

    assert ptx.target(MODULE) == "sm_90a"
    assert list(entries) == ["first", "second"]
    assert entries["first"].parameters == ["first_param_0", "first_param_1", "first_param_2"]
    assert entries["first"].bounds == {"reqntid": (128, 1, 1), "minnctapersm": (2,)}


def test_widths_of_global_accesses_with_their_lines():
    found = [(a.kind, a.bits, a.element_bits, a.line) for a in ptx.parse(MODULE)["first"].accesses]

    assert found == [("ld", 128, 32, 7), ("ld", 16, 16, 8), ("st", 16, 16, 8), ("ld", 128, 64, 8)]
    assert ptx.parse(MODULE)["first"].accesses[0].file == "/src/kernel.py"


def test_an_address_is_traced_to_the_bytes_of_its_parameter():
    first, second = ptx.parse(MODULE)["first"].accesses[:2]

    assert first.parameters == {(0, 0), (0, 12)}   # the pointer, and the second half of a two-word load
    assert second.parameters == {(1, 8)}


def test_inline_assembly_scopes_do_not_end_the_kernel():
    families = ptx.parse(MODULE)["first"].families

    assert families == Counter({"wgmma.mma_async": 1, "cp.async.bulk.tensor": 1, "stmatrix": 1})


def test_the_same_code_for_another_target_has_the_same_digest():
    lines = [".version 8.8", ".target sm_80", "// made for sm_80", ".loc 1 20 3", "add.u32 %r1, %r2, 1; // count"]
    other = [".version 9.0", ".target sm_90a", "add.u32 %r1, %r2, 1;"]

    assert ptx.digest("\n".join(lines)) == ptx.digest("\n".join(other))
    assert ptx.digest("\n".join(lines)) != ptx.digest("\n".join(lines).replace("%r2, 1", "%r2, 2"))

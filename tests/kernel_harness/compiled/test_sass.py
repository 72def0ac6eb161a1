"""Instruction facts from nvdisasm's text, and resources from a cubin's ELF sections."""

import pytest
from kernel_harness.compiled import cubin, sass

pytestmark = pytest.mark.cpu

TEXT = """
//--------------------- .text.kernel_a            --------------------------
	.section	.text.kernel_a,"ax",@progbits
.text.kernel_a:
	//## File "/src/k.py", line 20
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0020*/                   LDG.E.EF.128 R8, desc[UR4][R2.64+0x10] ;
        /*0030*/              @UP0 LDG.E.U16 R8, desc[UR4][R2.64] ;
        /*0040*/                   STL.64 [R1+0x8], R12                    (*"SpillRefill"*);
	//## File "/src/k.py", line 22
	//## File "/src/library.py", line 3 inlined at "/src/k.py", line 22
        /*0050*/                   LDL.LU R13, [R1+0x8]                    (*"SpillRefill"*);
        /*0060*/                   STL [R1], R13 ;
        /*0070*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24 ;
        /*0080*/                   UTMALDG.2D.MULTICAST [UR8], [UR6], UR20, desc[UR4] ;
        /*10090*/                  STG.E desc[UR4][R2.64], R4 ;
        /*100a0*/                  EXIT ;
	.section	.text.kernel_b,"ax",@progbits
        /*0000*/                   LDL R0, [R1] ;
        /*0010*/                   EXIT ;
"""


def test_counts_match_by_mnemonic_and_modifiers():
    kernel = sass.parse(TEXT)["kernel_a"]

    counts = [kernel.count(p) for p in ("LDG", "LDG.128", "LDG.EF.128", "LDG.64", "HGMMA", "STL", "LD")]
    assert counts == [3, 2, 1, 0, 1, 2, 0]
    assert kernel.family("TMA") == {"UTMALDG.2D.MULTICAST": 1}


def test_a_width_is_counted_under_the_name_that_the_report_gives_it():
    kernel = sass.parse(TEXT)["kernel_a"]

    assert [kernel.count(p) for p in ("LDG.16", "LDG.U16", "STG.32", "STL.32", "LDG.32")] == [1, 1, 1, 1, 0]
    assert all(kernel.count(f"{a.mnemonic}.{a.bits}") == a.count for a in kernel.accesses())


def test_widths_of_global_accesses():
    found = [(a.mnemonic, a.bits, a.count) for a in sass.parse(TEXT)["kernel_a"].accesses()]

    assert found == [("LDG", 128, 2), ("LDG", 16, 1), ("STG", 32, 1)]


def in_flight(*instructions):
    rows = [f"        /*{16 * i:04x}*/  {text} ;" for i, text in enumerate(instructions)]
    return sass.parse("\n".join(['	.section	.text.k,"ax",@progbits', *rows]))["k"].load_bytes_in_flight


LOADS = [f"LDG.E.128 R{r}, desc[UR4][R2.64+{r:#x}]" for r in (8, 12, 16, 20)]
USES = [f"FADD R30, R30, R{r}" for r in (11, 12, 18, 20)]


@pytest.mark.parametrize(("instructions", "most"), [
    ([*LOADS, *USES], 64),
    ([text for pair in zip(LOADS, USES, strict=True) for text in pair], 16),  # sunk to their uses
    ([LOADS[0], "@!P0 LDG.E.U8 R4, desc[UR4][R2.64]", USES[0]], 20),
    ([LOADS[0], USES[0], "LDG.E R12, desc[UR4][R8.64]"], 16),
    ([*LOADS[:2], USES[1], *LOADS[2:]], 32),  # the second came back, so did the first
    ([*LOADS[:2], "BRA `(.L_1)", *LOADS[2:], *USES], 32),  # one branch or the other
    ([*LOADS[:2], "@P0 BRA `(.L_1)", *LOADS[2:], *USES], 64),
    (["UTMALDG.2D [UR8], [UR6]", "LDS.128 R4, [R2]"], 0),
])
def test_bytes_that_a_thread_loads_before_it_waits(instructions, most):
    assert in_flight(*instructions) == most


def test_spills_are_told_from_other_local_accesses_and_named_by_line():
    kernel = sass.parse(TEXT)["kernel_a"]

    assert (kernel.spill_store_bytes, kernel.spill_load_bytes, kernel.local_instructions) == (8, 4, 3)
    assert kernel.spill_lines == {("/src/k.py", 20): 8, ("/src/k.py", 22): 4}


def test_local_accesses_that_an_old_nvdisasm_does_not_mark_are_unknown_and_not_zero():
    assert sass.parse(TEXT, marks_spills=True)["kernel_b"].spill_load_bytes == 0
    assert sass.parse(TEXT, marks_spills=False)["kernel_b"].spill_load_bytes is None


def test_without_nvdisasm_the_facts_are_missing(monkeypatch):
    monkeypatch.setattr(sass, "find_nvdisasm", lambda: None)

    assert sass.read(b"") is None


@pytest.mark.parametrize("image", [b"", b"MZ" * 100, b"\x7fELF" + b"\xff" * 96])
def test_bytes_that_are_no_cubin_get_a_sentence(image):
    with pytest.raises(cubin.CubinError, match="cubin"):
        cubin.read(image)


LOOP = """
	.section	.text.kernel,"ax",@progbits
.L_x_outer:
.L_x_1:
        /*0000*/                   HGMMA.64x128x16.F32.BF16 R88, gdesc[UR12], R88 ;
        /*0010*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR12], R24, gsb0 ;
{more}
        /*0020*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
	//## File "/src/k.py", line 9
{inside}
        /*0040*/              @!P0 BRA `(.L_x_1) ;
        /*0050*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*0060*/               @P0 BRA `(.L_x_outer) ;
        /*0070*/                   EXIT ;
"""
DRAIN = "        /*0030*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;"
SECOND = "        /*0018*/                   HGMMA.64x128x16.F32.BF16 R24, R4, gdesc[UR12], R24, gsb0 ;"


@pytest.mark.parametrize(
    ("inside", "more", "lines"),
    [("", "", []), (DRAIN, "", [("/src/k.py", 9)]), (DRAIN, SECOND, [])],
    ids=["behind the loop", "in the loop", "of two groups"],
)
def test_a_main_loop_that_waits_for_every_product_is_seen(inside, more, lines):
    assert sass.parse(LOOP.format(inside=inside, more=more))["kernel"].drained_at == lines

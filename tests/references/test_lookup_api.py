"""lookup_api.py answers from the installed wheel, quickly, and knows what is gone."""

import importlib
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "lookup_api.py"
sys.path.insert(0, str(ROOT / "scripts"))

from kernel_harness.api import api_index, doc_fences  # noqa: E402

pytestmark = pytest.mark.cpu


def _look_up(*arguments: str) -> tuple[int, dict]:
    command = [sys.executable, SCRIPT, *arguments, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, json.loads(done.stdout)


def test_several_names_are_told_one_after_the_other():
    command = [sys.executable, SCRIPT, "cute.where", "cute.no_such_name", "--format", "plain"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 1  # one of them is not there
    assert [line.split()[1] for line in done.stdout.splitlines() if line.startswith("VERDICT")] == [
        "verdict=FOUND", 'verdict="NOT']


@pytest.mark.parametrize(
    "name",
    ["cute.copy", "cutlass.cute.copy", "cute.compile", "cute.jit", "cute.math.exp2", "cute.ReductionOp.ADD",
     "pipeline.PipelineTmaAsync.create", "cpasync.tma_partition", "cutlass.utils.sm90.make_smem_layout_a",
     "cute.struct.MemRange", "cutlass.torch.dtype", "make_participants", "__tvm_ffi_object__"],
)  # fmt: skip
def test_finds_a_name_with_its_source_line(name):
    """The reported line of the reported file really defines the name."""
    code, answer = _look_up(name)

    assert code == 0
    entry = answer["found"][0]
    source = Path(answer["root"], entry["file"]).read_text(encoding="utf-8").splitlines()
    assert name.rsplit(".", 1)[-1] in "\n".join(source[entry["line"] - 1 : entry["line"] + 20])


def test_a_bound_function_shows_its_parameters():
    code, answer = _look_up("cute.arch.shuffle_sync")

    assert code == 0
    assert [entry["name"] for entry in answer["found"]] == ["cute.arch.shuffle_sync", "cute.arch.shuffle_sync_op"]
    assert "mask_and_clamp" in answer["found"][1]["signature"]


def test_a_class_tells_what_it_has():
    """The members of the class that the wheel gives: an enum's values by name, and what may be called."""
    code, answer = _look_up("StoreCacheMode")
    _, pipeline = _look_up("pipeline.PipelineTmaAsync")

    assert code == 0
    values = importlib.import_module("cutlass.cute.nvgpu").StoreCacheMode
    assert answer["found"][0]["members"] == list(values.__members__)
    assert any(values.STREAMING.name in note for note in answer["notes"])
    assert "consumer_wait()" in pipeline["found"][0]["members"]


def test_a_method_of_many_classes_is_told_once():
    code, answer = _look_up("bitcast")

    assert code == 0
    places = [(entry["file"], entry["line"]) for entry in answer["found"]]
    assert len(places) == len(set(places)) < 8
    assert answer["total"] > 20
    assert any("is also in cutlass.Boolean" in note for note in answer["notes"])


def test_a_removed_name_is_not_found_and_names_its_replacement():
    """The sentence holds the version and what to write instead."""
    code, answer = _look_up("cute.make_fragment")

    assert code == 1
    assert [(change["change"], change["since"]) for change in answer["changes"]] == [("removed", "4.6")]
    assert "make_rmem_tensor" in answer["notes"][0]


@pytest.mark.parametrize(
    "arguments", [(), ("",), ("--grep", ""), ("--grep", "("), ("two words",), ("cute.copy", "--grep", "x")]
)
def test_bad_input_is_a_usage_error(arguments):
    """One sentence, no traceback, exit code 2."""
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_pasted_call_is_a_name():
    """`cute.copy(atom, ...)` asks for cute.copy."""
    assert _look_up("cute.copy(atom, src, dst)")[1]["found"][0]["name"] == "cute.copy"


def test_says_since_when_a_name_exists():
    """A name that is younger than 4.0 comes with its first release."""
    _, answer = _look_up("cute.arch.map_dsmem_ptr")

    assert [entry["since"] for entry in answer["found"]] == ["4.5"]


def test_a_misspelt_name_gets_near_matches():
    """cute.cpy is close to cute.copy."""
    code, answer = _look_up("cute.cpy")

    assert code == 1
    assert "cute.copy" in answer["near"]


def test_a_pattern_that_nothing_matches_is_no_defect():
    code, found = _look_up("--grep", "no_such_word_zz")

    assert (code, found["found"], found["near"]) == (1, [], [])


def test_answers_within_a_second():
    """After the first call the index comes from the cache. Processor time: what else runs here is not its fault."""
    _look_up("cute.copy")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _look_up("cute.copy")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)

    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0


@pytest.mark.parametrize(
    ("name", "write"),
    [("rint", "cute.math.roundeven"), ("cute.math.nearbyint", "cute.math.roundeven"),
     ("__syncthreads", "cute.arch.sync_threads"), ("__shfl_xor_sync", "cute.arch.shuffle_sync_bfly")],
)  # fmt: skip
def test_knows_the_names_of_cuda_and_pytorch(name, write):
    """A name that no release had leads to the one that does it."""
    code, answer = _look_up(name)

    assert code == 1
    assert f"write {write}" in answer["notes"][0]


def test_changes_tell_the_truth_about_the_installed_wheel():
    """Names listed as gone do not resolve; what is to be written instead does."""
    wrong = []
    for change in api_index.changes():
        full = api_index.expand(change["name"])
        there = doc_fences.importable(full)
        if change["change"] != "changed" and there and not _only_warns(full):
            wrong.append(f"{change['name']} is there")
        for name in doc_fences.DOTTED.findall(change["use"]):
            if not doc_fences.resolves(name):
                wrong.append(f"{change['name']}: {name} does not resolve")

    assert wrong == []


def _only_warns(full: str) -> bool:
    """The wheel still forwards the old name with a warning."""
    entry = next(iter(api_index.load().find(full)), None)
    return entry is not None and bool(entry.deprecated)


def test_static_index_agrees_with_the_imported_package():
    """Every public function and class of cute, pipeline and nvgpu that the index lists can be had at run time."""
    modules = ("cutlass.cute", "cutlass.pipeline", "cutlass.cute.nvgpu.cpasync", "cutlass.cute.nvgpu.warpgroup")
    missing = []
    for module in modules:
        loaded = importlib.import_module(module)
        for path, entry in api_index.load().entries.items():
            parent, _, leaf = path.rpartition(".")
            if parent == module and entry.kind != "module" and not hasattr(loaded, leaf):
                missing.append(path)

    assert missing == []

"""Each way to break the contract gets one clear sentence."""

import pytest
from kernel_harness.contract import ContractError, load_kernel, module_name

pytestmark = pytest.mark.cpu

GOOD = "def kernel_fn(x): return x\ndef reference_fn(x): return x\ndef get_inputs(n=4): return []\n"


def write(tmp_path, text, name="kernel.py"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_loads_a_file_with_its_cases_and_defaults(tmp_path):
    loaded = load_kernel(write(tmp_path, GOOD + "TEST_CASES = {'odd': {'n': 3}}\nMUTATES = (0,)\n"))

    assert loaded.cases == {"default": {}, "odd": {"n": 3}}
    assert loaded.bench_cases == loaded.cases
    assert loaded.mutates == {0}
    assert loaded.archs == ("sm_80", "sm_90a", "sm_100a", "sm_120a")
    assert loaded.tolerance is None


def test_inputs_that_change_may_be_named(tmp_path):
    text = GOOD.replace("kernel_fn(x)", "kernel_fn(x, residual, *rest)")

    assert load_kernel(write(tmp_path, text + "MUTATES = ('residual', 3)\n")).mutates == {1, 3}


@pytest.mark.parametrize(("text", "sentence"), [
    ("def kernel_fn(x): return x\n", "does not define reference_fn and get_inputs"),
    (GOOD + "kernel_fn = 3\n", "kernel_fn is a int, not a function"),
    ("import nothing_of_that_name\n" + GOOD, "fails on import: ModuleNotFoundError"),
    ("raise SystemExit(0)\n", "exits while it is imported"),
    (GOOD + "TEST_CASES = {'a': {'rows': 3}}\n", "passes rows, which get_inputs does not take; it takes n"),
    (GOOD + "TEST_CASES = [3]\n", "TEST_CASES must be a dict"),
    (GOOD + "TEST_CASES = {'a': 3}\n", "must map a case name to a dict"),
    (GOOD.replace("n=4", "n"), "get_inputs() must work without arguments; give n a default"),
    (GOOD.replace("n=4", "n, m=1") + "TEST_CASES = {'a': {'m': 1}}\n", "lacks n, which get_inputs requires"),
    (GOOD + "TOLERANCE = 0.1\n", "TOLERANCE must be"),
    (GOOD + "TOLERANCE = {'rtol': -1}\n", "TOLERANCE must be"),
    (GOOD + "MUTATES = (-1,)\n", "MUTATES must hold indices"),
    (GOOD + "MUTATES = ('z',)\n", "names of kernel_fn's parameters, got ('z',)"),
    (GOOD + "MUTATES = 'x'\n", "MUTATES must hold indices"),
    (GOOD + "ARCHS = ('h100',)\n", "'h100' is no compile target"),
    (GOOD + "ARCHS = 5\n", "ARCHS must name compile targets"),
    (GOOD + "ARCHS = []\n", "ARCHS must name compile targets"),
    (b"\xff\xfe\x00binary", "is not Python source"),
    (b"x = 1\x00", "is not Python source"),
])
def test_says_in_one_sentence_what_is_wrong(tmp_path, text, sentence):
    with pytest.raises(ContractError, match=None) as caught:
        load_kernel(write(tmp_path, text))

    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_syntax_error_shows_line_and_caret(tmp_path):
    with pytest.raises(ContractError) as caught:
        load_kernel(write(tmp_path, "def kernel_fn(x:\n    return x\n"))

    assert "kernel.py:1: syntax error" in str(caught.value)
    line, caret = caught.value.detail.split("\n")
    assert line == "def kernel_fn(x:"
    assert caret.strip() == "^"


def test_a_missing_file_names_the_nearest_one(tmp_path):
    write(tmp_path, GOOD, "softmax.py")

    with pytest.raises(ContractError, match=r"softmx.py: no such file; did you mean .*softmax.py\?"):
        load_kernel(tmp_path / "softmx.py")


def test_a_folder_offers_a_file_in_it(tmp_path):
    write(tmp_path, GOOD, "softmax.py")

    with pytest.raises(ContractError, match=r"is a folder.*softmax.py"):
        load_kernel(tmp_path)


def test_another_suffix_is_not_python(tmp_path):
    with pytest.raises(ContractError, match="is not a Python file"):
        load_kernel(write(tmp_path, "__global__ void k() {}", "kernel.cu"))


def test_the_authors_frames_are_kept_and_the_harness_frames_cut(tmp_path):
    path = write(tmp_path, "def inner():\n    raise ValueError('deep')\ninner()\n")

    with pytest.raises(ContractError) as caught:
        load_kernel(path)

    assert "in inner" in caught.value.detail
    assert "contract.py" not in caught.value.detail
    assert "importlib" not in caught.value.detail


def test_a_neighbour_module_can_be_imported(tmp_path):
    write(tmp_path, "SIZE = 7\n", "neighbour_of_kernel.py")

    loaded = load_kernel(write(tmp_path, "from neighbour_of_kernel import SIZE\n" + GOOD))

    assert loaded.module.SIZE == 7


@pytest.mark.parametrize(("space", "sentence"), [
    ("[1, 2]", "TUNING_SPACE"),
    ("{'nope': [1, 2]}", "names nope, which kernel_fn does not take; it takes x"),
    ("{'x': []}", "must be a list of values to try, not []"),
    ("{'x': 5}", "must be a list of values to try, not 5"),
    ("{'x': 'abc'}", "must be a list of values to try, not 'abc'"),
    ("{'x': [object()]}", "must consist of numbers, text"),
])
def test_a_tuning_space_that_cannot_be_tried_is_refused_on_loading(tmp_path, space, sentence):
    with pytest.raises(ContractError) as caught:
        load_kernel(write(tmp_path, GOOD + f"TUNING_SPACE = {space}\n"))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_tuning_space_may_hold_tuples_and_any_keyword(tmp_path):
    text = GOOD.replace("kernel_fn(x)", "kernel_fn(x, **more)") + "TUNING_SPACE = {'tile': ((64, 128), None)}\n"
    assert load_kernel(write(tmp_path, text)).tuning_space == {"tile": [(64, 128), None]}


def test_a_file_of_any_letters_is_a_module_of_ascii_letters():
    """Its name becomes a part of its kernels' names, where NVVM takes no others."""
    assert module_name("my_kernel2") == "kernel_file_my_kernel2"
    assert module_name("\u044f\u0434\u0440\u043e-a.b") == "kernel_file______a_b"

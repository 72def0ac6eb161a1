"""Which nvidia-cutlass-dsl to install, and the sentence for what does not fit together."""

import pytest
from kernel_harness import flavour

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(
    ("driver", "requirement"),
    [
        (None, "nvidia-cutlass-dsl[cu13]"),
        (580, "nvidia-cutlass-dsl[cu13]"),
        (575, "nvidia-cutlass-dsl"),
        (535, "nvidia-cutlass-dsl"),
    ],
)
def test_the_flavour_follows_the_driver(driver, requirement):
    assert flavour.requirement(driver) == requirement


@pytest.mark.parametrize(
    ("driver", "torch_cuda", "installed", "text"),
    [
        (580, "13.0", {12, 13}, None),
        (None, "", {12}, None),
        (575, "12.8", {12}, None),
        (580, "13.0", set(), "is not installed"),
        (470, "12.8", {12}, "too old"),
        (575, "12.8", {13}, "CUDA 12 flavour"),
        (580, "", {12, 13}, "CPU build"),
        (575, "13.0", {12}, "torch was built for CUDA 13.0"),
    ],
)
def test_a_mismatch_gets_a_sentence_that_says_what_to_install(driver, torch_cuda, installed, text):
    problem = flavour.problem(driver, torch_cuda, installed)

    assert (problem is None) if text is None else text in problem
    assert problem is None or "\n" not in problem


def test_the_requirements_are_those_of_the_project():
    lines = flavour.requirements().splitlines()

    assert any(line.startswith("torch>=") for line in lines)
    assert any(line.startswith("pytest") for line in lines)
    assert lines[-1].startswith("nvidia-cutlass-dsl")

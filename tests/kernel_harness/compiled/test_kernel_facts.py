"""What is said of an input that a kernel reads one element at a time."""

import pytest
from kernel_harness.compiled.kernel_facts import _aligned_rows

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(("shape", "strides", "itemsize", "dimension"), [
    ((30, 1024), (1024, 1), 2, 1),
    ((1024, 30), (1, 1024), 2, 0),  # column-major
    ((256, 4096, 1), (4096, 1, 1), 2, 1),  # channels lie together, steps do not
    ((256, 4096, 1), (4096, 1, 4096), 2, 1),
    ((30, 1023), (1024, 1), 2, None),
    ((30, 1024), (1028, 1), 2, None),
    ((30, 1024), (1028, 1), 4, 1),
    ((30, 1024), (1024, 1), 16, None),
])  # fmt: skip
def test_the_dimension_along_which_rows_are_aligned(shape, strides, itemsize, dimension):
    tensor = {"shape": shape, "strides": strides, "itemsize": itemsize, "address": 4096}
    assert _aligned_rows(tensor) == dimension
    assert _aligned_rows({**tensor, "address": 4104}) is None

"""Counts of things, as people write them."""

import io

import pytest

from dse.quantities import plural
from dse.system import progress


@pytest.mark.parametrize(
    ("noun", "several"),
    [
        ("point", "points"),
        ("box", "boxes"),
        ("vertex", "vertices"),
        ("index", "indices"),
        ("case", "cases"),
        ("branch", "branches"),
    ],
)
def test_several_things_are_called_alike_everywhere(noun: str, several: str):
    assert plural(1, noun) == f"1 {noun}"
    assert plural(2, noun) == f"2 {several}"
    assert plural(0, noun) == f"0 {several}"
    stream = io.StringIO()
    progress._line_reporter(noun, stream)(3, 3)
    assert stream.getvalue().startswith(f"3 of 3 {several}")

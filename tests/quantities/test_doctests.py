"""The examples of all docstrings come out as they are written."""

import doctest
import importlib

import pytest
from own_modules import ROOT, trees

EXAMPLES = [path for path in trees() if ">>> " in (ROOT / path).read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", EXAMPLES)
def test_the_examples_of_a_module_come_out(path: str):
    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    ran = doctest.testmod(module)
    assert ran.attempted > 0
    assert ran.failed == 0

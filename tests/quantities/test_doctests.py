"""The examples of all docstrings come out as they are written."""

import doctest
import importlib

import pytest
from own_modules import files

EXAMPLES = [path for path, file in files().items() if b">>> " in file.read_bytes()]


@pytest.mark.parametrize("path", EXAMPLES)
def test_the_examples_of_a_module_come_out(path: str):
    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    ran = doctest.testmod(module)
    assert ran.attempted > 0
    assert ran.failed == 0

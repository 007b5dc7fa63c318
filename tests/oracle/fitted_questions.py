"""A fitted model of matrix products, its numbers by hand, and questions that ask it."""

from pathlib import Path
from typing import Any

import pytest

import scenarios
from scenarios import ScenarioError

# latency = 5 us + 4 fs m n k + 2 ps n m^0.5, by two columns that count and one in seconds
GEMM = """
format = 1
kind = "fitted model"
name = "gemm"
source = "made up for a test"
form = "posynomial"
[target]
name = "time"
unit = "s"
[columns.m]
unit = ""
least = 4.0
greatest = 1e5
[columns.n]
unit = ""
least = 16.0
greatest = 1e4
[columns.wait]
unit = "s"
least = 1e-6
greatest = 1.0
[[terms]]
coefficient = 5e-6
[[terms]]
coefficient = 4e-15
exponents = { m = 1.0, n = 2.0 }
[[terms]]
coefficient = 2e-12
exponents = { m = 0.5, n = 1.0 }
[[terms]]
coefficient = 0.5
exponents = { wait = 1.0 }
[[derived]]
name = "performance"
unit = "flop/s"
terms = [{ coefficient = 2.0, exponents = { m = 1.0, n = 2.0, time = -1.0 } }]
[[derived]]
name = "energy"
unit = "J"
terms = [{ coefficient = 300.0, exponents = { time = 1.0 } }]
[[hull]]
exponents = { m = 1.0, n = 1.0 }
greatest = 5e8
[error]
split = "5 folds"
mean = 0.05
low = 0.9
high = 1.2
"""
COLUMNS = {"m": (4, 1e5), "n": (16, 1e4), "wait": (1e-6, 1)}


def by_hand(m: Any, n: Any, wait: Any) -> Any:
    return 5e-6 + 4e-15 * m * n**2 + 2e-12 * m**0.5 * n + 0.5 * wait


def asked(folder: Path, define: str, more: str = "", given: str = "", top: str = "") -> scenarios.Scenario:
    text = f"""
model = "nbody"
machine = "jaketown"
{top}
[models]
gemm = "./gemm.toml"
[given]
bodies = 1e6
flops_per_pair = 20
processors = 64
memory = 20000
{given}
[define]
{define}
{more}
"""
    path = folder / "question.toml"
    path.write_text(text)
    return scenarios.load(path)


def refused(folder: Path, *parts: str, **more: str) -> str:
    with pytest.raises(ScenarioError) as error:
        asked(folder, *parts, **more)
    assert len(error.value.problems) == 1
    return str(error.value)

"""What can be wrong with a question about systems, asked through the command: words and exit codes 2 or 3."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dse.cli import main

STATION = """
title   = "a station"
model   = "exabounds"
machine = {{ base = "contrived-exabounds"{machine} }}

[given]
instructions = 36e12
{given}

[decide]
"machine.count.system" = {{ integer = true, max = 1000 }}

[objective]
minimize = "cost"

[limits]
performance = {{ min = "36e12 instruction/s" }}
{limits}
"""
SHORT = '[[given.data_reuse]]\ndistance = "1 KiB"\nshare = 0.5\n[[given.data_reuse]]\nshare = 0.4\n'
WRONG = {
    "count 0": ({"machine": ', "count.die" = 0'}, 2, "machine.count.die: 0 is too small"),
    "ALP below 1": ({"given": '"parallelism.core" = 0.5'}, 2, "given.parallelism.core: 0.5 is too small"),
    "voltage below threshold": (
        {"machine": ', voltage = "0.3 V"'},
        3,
        "threshold",
    ),
    "more pins than the package has": ({"machine": ', "io_pins.socket" = 500'}, 3, "pins.socket"),
    "histogram that does not sum to 1": ({"given": SHORT}, 2, "shares of data_reuse sum to 0.9, not to 1"),
    "missing technology parameter": (
        {"base": "power7-exabounds2012"},
        2,
        "has no voltage, dynamic_capacitance, which exabounds needs for power, energy, total cost",
    ),
    "cap that no system keeps": ({"limits": 'power = { max = "10 kW" }'}, 3, "(asked: ≤ 10 kW)"),
}


def ask(tmp_path: Path, base: str = "contrived-exabounds", **parts: str) -> Result:
    text = STATION.format(**{"machine": "", "given": "", "limits": ""} | parts)
    file = tmp_path / "station.toml"
    file.write_text(text.replace("contrived-exabounds", base), encoding="utf-8")
    return CliRunner().invoke(main, ["solve", str(file)])


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_in_words(tmp_path: Path, name: str):
    parts, code, words = WRONG[name]
    done = ask(tmp_path, **parts)
    said = " ".join(done.output.split())
    assert done.exit_code == code, said
    assert words in said


STACK = """
model   = "exabounds"
machine = "power7-exabounds2012"

[given]
instructions = 1e12

[sweep.clock]
path = "machine.frequency"
values = ["2 GHz", "4 GHz"]
"""


@pytest.mark.parametrize(
    ("metrics", "code"), [("time,cpi.branch", 0), ("power", 2), ("time,power_added.die", 2)]
)
def test_metrics_of_a_sweep_that_the_machine_says_too_little_for(tmp_path: Path, metrics: str, code: int):
    file = tmp_path / "stack.toml"
    file.write_text(STACK, encoding="utf-8")
    done = CliRunner().invoke(
        main, ["sweep", str(file), "-o", str(tmp_path / "s.zarr"), "--metrics", metrics]
    )
    assert done.exit_code == code, done.output
    name = metrics.rpartition(",")[2]
    refused = f"has no voltage, dynamic_capacitance, which exabounds needs for {name}" in done.output
    assert refused == (code == 2)


def test_the_question_itself_is_answered(tmp_path: Path):
    """Else the above would prove nothing."""
    done = ask(tmp_path)
    assert done.exit_code == 0
    assert "optimal" in done.stdout

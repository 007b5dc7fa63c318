"""`dse check` says what is promised of limits over samples."""

import pytest

from dse.cli import main


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "nbody_deadline_in_95_of_100_worlds",
            "time: holds with probability 0.95, with confidence 0.99",
        ),
        (
            "nbody_fewest_processors_within_time_and_energy",
            "time, energy together: holds with probability 0.9, with confidence 0.99",
        ),
        ("nbody_deadline", ""),
    ],
)
def test_probabilities_of_limits_are_told(name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["check", name])
    assert not end.value.code
    lines = [x.split(maxsplit=1) for x in capsys.readouterr().out.splitlines()]
    assert [text for head, *text in lines if head == "promised"] == ([[said]] if said else [])

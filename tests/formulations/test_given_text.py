"""What is given, in lines: rows of lists stand together, nothing is lost where all is asked for."""

import pytest

from formulations.pyomo_models.explain import GIVEN_WIDTH, given_lines, wrapped

KEYS = ("core_frequency", "memory_frequency", "energy_per_flop", "energy_per_byte", "constant_power")


def menu(rows: int) -> dict[str, str]:
    numbers = {f"machine.{i}-204.{k}": f"{i}.5 J/flop" for i in range(rows) for k in KEYS}
    return {**numbers, "machine.flops_per_cycle": "384 flop", "flops": "1 Gflop"}


@pytest.mark.parametrize(("rows", "full"), [(3, False), (16, True)])
def test_every_number_is_told_beside_its_row(rows: int, full: bool) -> None:
    lines = list(given_lines(menu(rows), full=full))
    assert max(map(len, lines)) <= GIVEN_WIDTH
    text = " ".join(" ".join(lines).split())
    for i in range(rows):
        told = text.partition(f"machine.{i}-204: ")[2]
        assert told.startswith(", ".join(f"{k} = {i}.5 J/flop" for k in KEYS))
    assert "  flops = 1 Gflop" in lines
    assert "  machine.flops_per_cycle = 384 flop" in lines


def test_a_number_stays_with_its_name_and_unit() -> None:
    lines = list(given_lines(menu(3), full=False))
    assert not any(line.endswith((" =", ".5")) for line in lines)


def test_long_lists_are_told_by_the_names_of_their_rows() -> None:
    lines = list(given_lines(menu(16), full=False))
    text = " ".join(" ".join(lines).split())
    assert "machine: 16 rows of numbers (--full shows them): 0-204, 1-204," in text
    assert "core_frequency" not in text
    assert "  machine.flops_per_cycle = 384 flop" in lines
    assert len(lines) < 6


def test_only_long_lines_are_wrapped() -> None:
    assert wrapped("  a  b") == ["  a  b"]
    assert wrapped("") == [""]
    lines = wrapped("    " + "word " * 40)
    assert lines[0].startswith("    word")
    assert all(line.startswith("        word") for line in lines[1:])

"""300 files with known faults: each is refused with every one of its faults at once, and none with a traceback."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.fitting import FittingError

FILES, ROWS = 300, 16
HEAD = ["flops [Gflop]", "bytes [GB]", "time [ms]", "energy [J]", "host"]
Cells = list[str]
Damage = Callable[[np.random.Generator, Cells], tuple[str, str]]


def cell(text: str, said: str, place: int | None = None) -> Damage:
    """Put a text into one of the number cells; ``said`` is what the refusal has of it."""

    def damage(rng: np.random.Generator, cells: Cells) -> tuple[str, str]:
        at = int(rng.integers(4)) if place is None else place
        cells[at] = text
        return ",".join(cells), said

    return damage


def shape(change: Callable[[Cells], str], said: str) -> Damage:
    return lambda _, cells: (change(cells), said)


OF_LINES: tuple[Damage, ...] = (
    cell("fast", "is fast, not"),
    cell("", "is empty, not"),
    cell("nan", "is nan, not"),
    cell("-inf", "is -inf, not"),
    cell("-3.5", "is -3.5, not"),
    cell("1e999", "is 1e999, not"),
    cell("1_000", "is 1_000, not"),
    cell("3 ms", "is 3 ms, not"),
    cell("1e45", "is 1e45, too far from 1"),
    cell("0x1F", "is 0x1F, not"),
    cell("１２", "is １２, not"),
    cell("True", "is True, not"),
    cell("x" * 99, "is xxxxxxxx"),
    cell("0", "is 0, not a positive number", place=2),
    cell("0", "is 0, not a positive number", place=3),
    shape(lambda c: ",".join(["0", "0", *c[2:]]), "neither flops nor bytes"),
    shape(lambda c: ",".join(c[:-1]), "has 4 cells, the header has 5"),
    shape(lambda c: ",".join([*c, "9"]), "has 6 cells, the header has 5"),
    shape(lambda c: c[0], "has 1 cell, the header has 5"),
    shape(lambda c: ",".join(["1,5", *c[1:]]), "has 6 cells, the header has 5"),
    shape(lambda c: ",".join([*c[:-1], '"a']), "is not CSV: a quote"),
    shape(lambda c: ",".join([*c[:-1], "\udcff"]), "is not UTF-8 text"),
)
OF_HEADS: tuple[tuple[int, str, str], ...] = (
    (0, "flop rate [Gflop]", "column flops [flop] is missing"),
    (1, "byte [GB]", "column bytes [byte] is missing; is it 'byte'?"),
    (1, "flops", "column flops is there 2 times"),
    (2, "time [W]", "'time [W]': '1 W' is a power (W), but a time (s)"),
    (2, "time [milis]", "unknown unit 'milis'"),
    (2, "", "column time [s] is missing"),
    (3, "enrgy [J]", "is it 'enrgy'?"),
    (3, "energy [Jflop]", "unknown unit 'Jflop'"),
    (4, "time", "column time is there 2 times"),
)


def malformed(seed: int) -> tuple[bytes, list[str]]:
    """Return a file with one to six faults, and what must be said of each."""
    rng = np.random.default_rng(seed)
    moved = rng.uniform(1, 9, ROWS)
    columns = [moved * 2.0 ** np.arange(ROWS) / 8, moved, 5 * moved, 2 * moved]
    lines = [[f"{v:.6g}" for v in row] + ["a"] for row in zip(*columns, strict=True)]
    heads, wanted, spoilt = list(HEAD), [], -1
    if seed % 3 == 0:
        spoilt, heads[spoilt], said = OF_HEADS[int(rng.integers(len(OF_HEADS)))]
        wanted.append(said)
    told = [",".join(heads)]
    bad = set(rng.choice(ROWS, rng.integers(1, 6), replace=False).tolist())
    for i, cells in enumerate(lines):
        line = ",".join(cells)
        if i in bad:
            before = list(cells)
            line, said = OF_LINES[int(rng.integers(len(OF_LINES)))](rng, cells)
            changed = [k for k in range(4) if k >= len(cells) or cells[k] != before[k]]
            # whether the cells of a column without a right header are read depends on what it is called
            if spoilt in changed or (spoilt in {0, 1} and "neither" in said):
                line = ",".join(before)
            else:
                wanted.append(said)
                wanted.append(f"line {i + 2}")
        told.append(line)
    if not wanted:
        return malformed(seed + FILES)
    return "\n".join(told).encode("utf-8", "surrogateescape"), wanted


def test_all_faults_of_300_files_are_told_at_once(tmp_path: Path):
    file = tmp_path / "runs.csv"
    for seed in range(FILES):
        content, wanted = malformed(seed)
        file.write_bytes(content)
        with pytest.raises(FittingError) as caught:
            dse.fit(file, "roofline")
        told = str(caught.value)
        for words in wanted:
            assert words in told, (seed, words, told)
        assert len(caught.value.problems) >= sum(not w.startswith("line ") for w in wanted)


def test_a_malformed_file_is_no_traceback_for_a_model_either(tmp_path: Path):
    """Every twelfth of the files; some are malformed only in columns that such a fit does not read."""
    file = tmp_path / "runs.csv"
    codes = []
    for seed in range(0, FILES, 12):
        file.write_bytes(malformed(seed)[0])
        words = ["fit", str(file), "--model", "posynomial", "--target", "time", "--of", "flops, bytes"]
        done = CliRunner().invoke(main, [*words, "--terms", "1"])
        codes.append(done.exit_code)
        assert done.exit_code in {0, 2, 3}, (seed, done.output)
        assert done.exit_code != 2 or "cannot be fitted:" in done.stderr
        assert "unexpected" not in done.stderr
    assert codes.count(2) > len(codes) / 2


@pytest.mark.parametrize("model", ["dvfs", "network", "roofline"])
def test_no_malformed_file_ends_in_a_traceback(model: str, tmp_path: Path):
    file = tmp_path / "runs.csv"
    odd = [b"", b"\n\n", b"\xff\xfe\x00", b"\x00" * 99, b",,,\n,,,", b'"', b"time\n" * 9, b"\xef\xbb\xbf"]
    for content in [*odd, *(malformed(seed)[0] for seed in range(0, FILES, 12))]:
        file.write_bytes(content)
        done = CliRunner().invoke(main, ["fit", str(file), "--model", model])
        assert done.exit_code == 2, (content, done.output)
        assert "cannot be fitted:" in done.stderr
        assert "Traceback" not in done.stderr
        assert "unexpected" not in done.stderr

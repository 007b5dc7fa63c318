"""Figures on the pages of docs/ are those that the repository's own measurements hold."""

import csv
import re
from pathlib import Path

from dse import machines
from dse.papers.asking import metrics
from dse.papers.megatron import batches
from dse.papers.sources import table

ROOT = Path(__file__).parents[1]
SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def measured(name: str) -> list[dict[str, str]]:
    with (ROOT / "benchmarks" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cells(text: str) -> list[list[str]]:
    return [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


def test_rows_of_grids_are_those_of_the_table_they_are_chosen_from() -> None:
    rows = {
        r["scenario"]: r for r in measured("grids/rates.csv") if r["points"] == "1000" and not r["machine"]
    }
    shown = cells(page("latency.md").partition("## Grids")[2])[2:]
    assert len(shown) > 20
    for name, kind, axes, rate, goal, how in shown:
        row = rows[name.strip("`")]
        found = (row["class"], row["axes"].replace("given.", ""), row["rate"], row["goal"])
        assert (kind, axes, rate, goal) == found, name
        assert (how == "together") == (row["singly"] == "0"), name


def test_counts_of_grids_are_those_of_the_table() -> None:
    text = page("latency.md")
    rows = [r for r in measured("grids/rates.csv") if r["rate"]]
    goals = [r for r in rows if r["points"] == "1000" and r["goal"]]
    short = [r["scenario"] for r in goals if float(r["rate"]) < float(r["goal"])]
    assert (
        f"{len(goals) - len(short)} of the {len(goals)} questions of the table that have a goal reach it"
        in text
    )
    assert all(f"`{name}` does not" in text for name in short)
    many = [r for r in rows if r["points"] == "40000"]
    geometric = [r for r in many if r["class"] == "GP"]
    assert f"At 40 000 points {len(many)} questions" in text
    assert f"all {len(geometric)} geometric programs" in text
    assert f"all {len(many) - len(geometric)} others 2 000" in text
    assert all(float(r["rate"]) >= (20_000 if r in geometric else 2000) for r in many)
    small = [r for r in rows if r["points"] == "9"]
    kept = [r for r in small if float(r["rate"]) >= float(r["goal"])]
    assert f"Of {len(small)} grids of 9 points {len(kept)} take" in text


def test_single_questions_are_those_of_their_table() -> None:
    text = page("latency.md").partition("## Single questions")[2].partition("## Grids")[0]
    rows = {r["scenario"]: r for r in measured("questions/singles.csv")}
    shown = cells(text)[2:]
    assert f"Of {len(rows)} questions" in text
    assert {n.strip("`") for n, *_ in shown} == set(
        sorted(rows, key=lambda n: -float(rows[n]["seconds"]))[: len(shown)]
    )
    for name, kind, seconds, calls in shown:
        row = rows[name.strip("`")]
        assert (kind, seconds, calls) == (row["class"], f"{float(row['seconds']):.2f}", row["calls"])
    told = re.search(r"another one, (\d+) take more than 0.2 s, and the slowest ([\d.]+) s", text)
    assert told is not None
    warm = page("benchmarks.md").partition("### warm, slowest first")[2].partition("\n### ")[0]
    assert f"{told[1]} of {len(rows)} take more than 0.2 s of processor" in warm
    assert max(float(row[5]) for row in cells(warm.partition("## Partitions")[0])[2:]) == float(told[2])


def test_the_slowest_question_stands_first() -> None:
    warm = page("benchmarks.md").partition("### warm, slowest first")[2].partition("\n## ")[0]
    times = [float(row[1].split()[0]) * SECONDS[row[1].split()[1]] for row in cells(warm)[2:]]
    assert len(times) > 100
    assert times == sorted(times, reverse=True)


def test_what_definitions_cost_and_memory_takes_is_in_the_benchmarks() -> None:
    text = page("benchmarks.md")
    said = re.search(
        r"took ([\d.]+) times, a sweep of 10 000 points ([\d.]+) times, and an evaluation of 1 000 000 points ([\d.]+)",
        " ".join(page("definitions.md").split()),
    )
    assert said is not None
    assert list(said.groups()) == re.findall(r"definitions take ([\d.]+) times what the model takes", text)
    memory = re.search(r"a peak of (\d+), (\d+), (\d+) and (\d+) MB", page("scaling.md"))
    assert memory is not None
    peaks = re.findall(r"\| peak (\d+) MB, [\d.]+ times that of the first \((\d+) MB\)", text)
    assert list(memory.groups()) == [peaks[0][1], *(p for p, _ in peaks)]


def test_the_share_of_the_constant_power_is_that_of_the_measured_platforms() -> None:
    said = re.search(r"between (\d+) and (\d+) % of the greatest power", page("machine_files.md"))
    assert said is not None
    found = [m.parameters for m in machines.every() if m.name.endswith("-choi2014")]
    shares = [100 * p["constant_power"] / (p["constant_power"] + p["usable_power"]) for p in found]
    assert (round(min(shares)), round(max(shares))) == (int(said[1]), int(said[2]))


def test_errors_of_batch_times_are_those_of_the_reproduction() -> None:
    lines = table("megatron/times")

    def errors(machine: str) -> list[float]:
        times = [
            metrics("transformer_training", machine, batches.plan(x), *batches.WAIVED)["step_time"]
            for x in lines
        ]
        return [t / float(x["seconds"]) - 1.0 for t, x in zip(times, lines, strict=True)]

    mean = sum(map(abs, errors(batches.NAME))) / len(lines)
    assert f"{100 * mean:.2f} % off on four batch times" in page("training.md")
    assert f"The mean error is {100 * mean:.2f} %" in page("papers/megatron.md")
    assert max(errors(batches.SHEET)) < -0.2
    assert "by more than a fifth on `dgx-a100-bf16`" in page("training.md")

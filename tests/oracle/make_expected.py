"""Write scenarios/library/expected.csv: what the brute force finds for every ready scenario.

Run from anywhere: ``python tests/oracle/make_expected.py``. A sweep is answered at a few grid points
(``point`` holds the index on each axis), a front of energy against time at a few budgets (``point`` holds the
share by which the budget exceeds the least energy; the objective there is the least time); a front over axes has
the index first, then the share.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import oracle_blocks
import oracle_chances
import oracle_checkpoints
import oracle_clock
import oracle_definitions
import oracle_functions
import oracle_gemm
import oracle_kernels
import oracle_levels
import oracle_listed
import oracle_papers
import oracle_papers_systems
import oracle_partition
import oracle_plans
import oracle_prices
import oracle_reading as reading
import oracle_robust_fronts
import oracle_robust_sweeps
import oracle_roofline
import oracle_serving
import oracle_settings
import oracle_station
import oracle_systems
import oracle_uncertain
import oracle_worlds
from brute_force import answer
from oracle_conflicts import minimal_conflicts
from oracle_equations import Ask, Best

LIBRARY = reading.ROOT / "scenarios" / "library"
LISTED = {
    "blocks": oracle_blocks,
    "partition": oracle_partition,
    "dvfs": oracle_settings,
    "sockets": oracle_station,
    "exabounds": oracle_systems,
    "gemm-h100": oracle_gemm,
    "gemm-a100": oracle_gemm,
    "fp32-a4000": oracle_clock,
    "transformer_training": oracle_plans,
}
SHARES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)
COLUMNS = (
    "scenario",
    "point",
    "status",
    "goal",
    "objective",
    "tolerance",
    "processors",
    "memory",
    "conflicts",
    "how",
)
TOLERANCE = "1e-6"


def main() -> None:
    """Answer every scenario and write the table."""
    with (LIBRARY / "expected.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        for path in sorted(LIBRARY.glob("*.toml")):
            for row in rows(path):
                table.writerow(row)


TYPED = (
    oracle_prices,
    oracle_definitions,
    oracle_checkpoints,
    oracle_functions,
    oracle_levels,
    oracle_kernels,
    oracle_papers,
    oracle_papers_systems,
    oracle_uncertain,
    oracle_chances,
    oracle_serving,
    oracle_robust_sweeps,
)


def rows(path: Path) -> Iterator[dict[str, str]]:
    """What the brute force finds for one file: a row, or a few for a sweep or a front."""
    source = reading.load(path)
    if path.stem in oracle_worlds.NAMES:
        yield from (dict.fromkeys(COLUMNS, "") | found for found in oracle_worlds.rows(path.stem, source))
        return
    if path.stem in oracle_robust_fronts.NAMES:
        yield from front_rows(path.stem, source)
        return
    typed = next((o for o in TYPED if path.stem in o.NAMES), None)
    if typed is not None:
        yield from typed_rows(typed, path.stem, source)
    elif source["model"] == "roofline":
        yield from roofline_rows(path.stem, source)
    elif source["model"] in LISTED:
        yield from listed_rows(path.stem, source)
    elif "sweep" in source:
        for index in reading.indices(source, 3):
            ask = reading.ask(reading.at_point(source, index))
            yield row(path.stem, " ".join(map(str, index)), ask, answer(ask))
    elif isinstance(source["objective"].get("minimize"), list):
        for share, ask in budgets(source):
            yield row(path.stem, repr(share), ask, answer(ask))
    else:
        ask = reading.ask(source)
        yield row(path.stem, "", ask, answer(ask))


def front_rows(name: str, source: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Points of a front over uncertain numbers: the first measure, then the second within budgets above it."""
    for share in oracle_robust_fronts.SHARES[name]:
        found = oracle_robust_fronts.answer(name, source, share)
        yield dict.fromkeys(COLUMNS, "") | {
            "scenario": name,
            "point": repr(share),
            "status": "optimal",
            "goal": found.goal,
            "objective": f"{found.objective:.12g}",
            "tolerance": TOLERANCE,
            "how": found.how,
        }


def typed_rows(oracle: ModuleType, name: str, source: dict[str, Any]) -> Iterator[dict[str, str]]:
    """The same for questions with definitions or several kernels, which an oracle has typed again."""
    # counts and shares of models over lists are decided unasked
    decided = source.get("decide") or source.get("model") in LISTED
    for index in reading.indices(source, 3) if "sweep" in source else [()]:
        found = oracle.answer(name, source, index)
        yield dict.fromkeys(COLUMNS, "") | {
            "scenario": name,
            "point": " ".join(map(str, index)),
            "status": "optimal" if decided else "evaluated",
            "goal": found.goal,
            "objective": f"{found.objective:.12g}",
            "tolerance": TOLERANCE,
            "how": found.how,
        }


def roofline_rows(name: str, source: dict[str, Any]) -> Iterator[dict[str, str]]:
    """The same for a roofline, whose oracle takes the file as it stands."""
    places = reading.indices(source, 3) if "sweep" in source else [()]
    for index in places:
        point = reading.at_point(source, index) if index else source
        found = oracle_roofline.answer(point)
        yield dict.fromkeys(COLUMNS, "") | {
            "scenario": name,
            "point": " ".join(map(str, index)),
            "status": "optimal" if source.get("decide") else "evaluated",
            "goal": found.goal,
            "objective": f"{found.objective:.12g}",
            "tolerance": TOLERANCE,
            "how": oracle_roofline.how(source),
        }


def listed_rows(name: str, source: dict[str, Any]) -> Iterator[dict[str, str]]:
    """The same for questions over lists, whose oracles take the file as it stands."""
    for point, question in listed_questions(source):
        found = LISTED[source["model"]].answer(question)
        feasible, how = found.objective is not None, found.how
        yield dict.fromkeys(COLUMNS, "") | {
            "scenario": name,
            "point": point,
            "status": ("evaluated" if how == "the equations" else "optimal") if feasible else "infeasible",
            "goal": found.goal,
            "objective": f"{found.objective:.12g}" if feasible else "",
            "tolerance": TOLERANCE,
            "conflicts": "; ".join(sorted("+".join(sorted(names)) for names in found.conflicts)),
            "how": how,
        }


def listed_questions(source: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The single questions behind a file: itself, points of its grid, or of its front."""
    several = isinstance(source.get("objective", {}).get("minimize"), list)
    if "sweep" in source and several:
        for index in reading.indices(source, 1):
            place = oracle_listed.at_point(source, index)
            for point, question in listed_questions(place):
                yield f"{' '.join(map(str, index))} {point}", question
    elif "sweep" in source:
        # a station is quick to sweep, but slow to search: the corners of its grid
        for index in reading.indices(source, 1 if source["model"] == "sockets" else 4):
            own = {"exabounds": oracle_systems.at_point, "transformer_training": reading.at_point}
            at_point = own.get(source["model"], oracle_listed.at_point)
            yield " ".join(map(str, index)), at_point(source, index)
    elif several:
        # of three objectives the last plays no part in these points
        first, second, *_ = source["objective"]["minimize"]
        least = {**source, "objective": {"minimize": first}}
        yield repr(SHARES[0]), least
        best = LISTED[source["model"]].answer(least).objective
        for share in SHARES[1:]:
            limits = source.get("limits", {}) | {first: {"max": best * (1 + share)}}
            yield repr(share), {**source, "objective": {"minimize": second}, "limits": limits}
    else:
        yield "", source


def budgets(source: dict[str, Any]) -> Iterator[tuple[float, Ask]]:
    """Points of a front: the least of the first objective, then the second within budgets above it."""
    first, second = source["objective"]["minimize"]
    single = {k: v for k, v in source.items() if k != "objective"}
    least = answer(reading.ask(single | {"objective": {"minimize": first}})).objective
    for share in SHARES:
        if share == 0.0:
            yield share, reading.ask(single | {"objective": {"minimize": first}})
        else:
            limit = {first: {"max": least * (1 + share)}}
            limits = source.get("limits", {}) | limit
            yield share, reading.ask(single | {"objective": {"minimize": second}, "limits": limits})


def row(name: str, point: str, ask: Ask, best: Best) -> dict[str, str]:
    """One line of the table; p and M only where the optimum is one design."""
    processors = best.at.get("processors", math.nan) if best.fewest == best.fastest else math.nan
    memory = best.at.get("memory", math.nan) if best.feasible else math.nan
    return {
        "scenario": name,
        "point": point,
        "status": "optimal" if best.feasible else "infeasible",
        "goal": ask.goal,
        "objective": f"{best.objective:.12g}" if best.feasible else "",
        "tolerance": TOLERANCE,
        "processors": "" if math.isnan(processors) else f"{processors:.9g}",
        "memory": "" if math.isnan(memory) else f"{memory:.9g}",
        "conflicts": "" if best.feasible else conflicts(ask),
        "how": how(ask),
    }


def conflicts(ask: Ask) -> str:
    """All minimal conflicting sets of limits: names joined by +, sets by a semicolon."""
    return "; ".join(sorted("+".join(sorted(names)) for names in minimal_conflicts(ask)))


def how(ask: Ask) -> str:
    """In words, the search that answered."""
    if ask.model == "matmul_two_level":
        return "nodes eliminated, core memory scanned densely and refined, node memory likewise at each"
    if ask.whole_halvings:
        return "every combination of whole halvings"
    if ask.reductions:
        return "one energy parameter eliminated, memory and the other halvings scanned and refined"
    if ask.model == "fft":
        return "every allowed p"
    if ask.decide["processors"].whole or ask.decide["processors"].values:
        return "every allowed p, memory scanned and refined at each"
    return "p eliminated, memory scanned densely and refined"


if __name__ == "__main__":
    main()

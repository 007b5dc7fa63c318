"""Bills of materials added up by our method, runs answered by our models, and a die of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dse import machines
from dse.machines import carbon
from dse.papers.asking import metrics
from dse.papers.report import Row
from dse.papers.rows import EXACT, Rows
from dse.papers.sources import table

PAPER = "act"
ROWS = Rows(PAPER)
# share of the vendors' assessments between which ACT's figures lie
LEAST, MOST = 0.3, 1.1
YEAR, KWH = 365.25 * 86400.0, 3.6e6
Place = tuple[str, str]


@cache
def ours() -> Mapping[Place, float]:
    """Carbon of each group of parts of each product, kg, by our method.

    ACT's program divides memory and flash by the yield too, which its paper does not; so do these sums, unlike the
    machines of the catalogue.
    """
    found: dict[Place, float] = {}
    for row in table("act_parts"):
        good, packages = float(row["yield"]), int(row["packages"])
        if row["memory"]:
            stored = float(row["capacity_GB"]) * 1e9 * carbon.per_byte(row["memory"]) / good
            part = carbon.of_package(stored, packages=packages)
        else:
            process = carbon.process(row["process"], int(row["gases"]))
            electricity = carbon.intensity(row["electricity"])
            die = carbon.of_die(float(row["area_cm2"]) * 1e-4, process, electricity, good)
            part = carbon.of_package(die, packages=packages)
        place = row["product"], row["group"]
        found[place] = found.get(place, 0.0) + part
    return found


def made() -> list[Row]:
    """Every group beside what ACT's program gives."""
    return [
        ROWS.derived(
            row["statement"],
            row["group"],
            float(row["published_kg"]),
            ours()[row["product"], row["group"]],
            "kg",
        )
        for row in table("act_published")
    ]


def assessed() -> list[Row]:
    """Every group beside the vendor's own assessment."""
    found = []
    for row in table("act_published"):
        here, there = ours()[row["product"], row["group"]], float(row["assessed_kg"])
        said = f"{here:.3g} kg, assessed {there:g} kg: {here / there:.2f}"
        item = f"{row['product']}: {row['group']}"
        found.append(ROWS.holds("assessed", item, ours=LEAST <= here / there <= MOST, remark=said))
    return found


def running() -> list[Row]:
    """ACT's example of operation, and the share of an hour, as metrics of a run."""
    power, grams, lifetime, busy = 0.273, 597.0, 3.5 * YEAR, 0.723
    machine = {
        "time_per_flop": 1.0,
        "energy_per_flop": 0.0,
        "time_per_byte": 0.0,
        "energy_per_byte": 0.0,
        "constant_power": power,
        "embodied_carbon": 2.0,
    }
    run = {"flops": lifetime * busy, "bytes": 0.0, "lifetime": lifetime, "utilisation": busy}
    at = metrics("roofline", machine, {**run, "carbon_intensity": grams / 1e3 / KWH})
    by_hand = grams / 1e3 / KWH * power * busy * lifetime
    hour = metrics("roofline", machine, {**run, "flops": 3600.0, "carbon_intensity": grams / 1e3 / KWH})
    return [
        ROWS.derived("operational", "273 mW, 72.3 % of 3.5 years", by_hand, at["carbon_operational"], "kg"),
        ROWS.derived("share", "the whole life", 2.0, at["carbon_embodied"], "kg"),
        ROWS.derived("share", "an hour", 2.0 * 3600.0 / (lifetime * busy), hour["carbon_embodied"], "kg"),
    ]


def catalogue() -> list[Row]:
    """The ends between which the catalogue has an H100: 8.14 cm2 at 5 nm made in Taiwan, 80 GiB, one package."""
    stated = machines.get("h100-sxm").intervals["embodied_carbon"]
    memory = 80 * 2.0**30 / 1e9
    found = []
    for abated, gases, per_gigabyte, end in ((99, 225, 0.048, stated[0]), (95, 430, 0.065, stated[1])):
        by_hand = (642 * 2.75 + gases + 500) / 1e3 / 0.875 * 8.14 + memory * per_gigabyte + 0.15
        # the file has twelve digits
        found.append(ROWS.derived("die", f"{abated} % abated", by_hand, end, "kg", tolerance=10 * EXACT))
    return found

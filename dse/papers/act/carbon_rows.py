"""Bills of materials added up by our method, runs answered by our models, and a die of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dse import machines
from dse.machines import carbon
from dse.papers.asking import metrics
from dse.papers.comparer import Answers, Found
from dse.papers.sources import table

PAPER = "act"
answers = Answers(PAPER)
JULIAN_YEAR, KWH = 365.25 * 86400.0, 3.6e6
Place = tuple[str, str]


@cache
def ours() -> Mapping[Place, float]:
    """Carbon of each group of parts of each product, kg, by our method.

    ACT's program divides memory and flash by the yield too, which its paper does not; so do these sums, unlike the
    machines of the catalogue.
    """
    found: dict[Place, float] = {}
    for row in table("act/parts"):
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


@answers("r740", "fairphone3")
def _made(product: str, group: str) -> float:
    return ours()[product, group]


@answers("assessed")
def _assessed(product: str, group: str, assessed_kg: str, low: str, high: str) -> Found:
    here, there = ours()[product, group], float(assessed_kg)
    share = here / there
    told = {"ours": here, "assessed": there, "share": share}
    return Found(float(low) <= share <= float(high), told=told)


def _phone_metrics(power: str, grams: str, years: str, busy: str, **more: float) -> Mapping[str, float]:
    """Every metric of a run of a telephone that lives so long; ``more``: its seconds, its embodied carbon."""
    machine = dict.fromkeys(("time_per_byte", "energy_per_byte", "energy_per_flop"), 0.0)
    machine |= {"time_per_flop": 1.0, "constant_power": float(power)}
    machine |= {"embodied_carbon": more.get("embodied", 0.0)}
    lifetime = float(years) * JULIAN_YEAR
    run = {"flops": more.get("seconds", lifetime * float(busy)), "bytes": 0.0, "lifetime": lifetime}
    run |= {"utilisation": float(busy), "carbon_intensity": float(grams) / 1e3 / KWH}
    return metrics("roofline", machine, run)


@answers("operational")
def _operational(power: str, grams: str, years: str, busy: str) -> Found:
    at = _phone_metrics(power, grams, years, busy)
    by_hand = float(grams) / 1e3 / KWH * float(power) * float(busy) * float(years) * JULIAN_YEAR
    return Found(at["carbon_operational"], by_hand)


@answers("share")
def _life(power: str, grams: str, years: str, busy: str, embodied: str) -> float:
    return _phone_metrics(power, grams, years, busy, embodied=float(embodied))["carbon_embodied"]


@answers("share:hour")
def _hour(power: str, grams: str, years: str, busy: str, embodied: str) -> Found:
    at = _phone_metrics(power, grams, years, busy, embodied=float(embodied), seconds=3600.0)
    by_hand = float(embodied) * 3600.0 / (float(years) * JULIAN_YEAR * float(busy))
    return Found(at["carbon_embodied"], by_hand)


@answers("die", "die:95")
def _die(gases: str, per_gigabyte: str, end: str) -> Found:
    """One of the ends between which the catalogue has an H100: 8.14 cm2 at 5 nm made in Taiwan, 80 GiB."""
    stated = machines.get("h100-sxm").intervals["embodied_carbon"][int(end)]
    memory = 80 * 2.0**30 / 1e9 * float(per_gigabyte)
    return Found(stated, (642 * 2.75 + float(gases) + 500) / 1e3 / 0.875 * 8.14 + memory + 0.15)

"""What a design comes to in fresh samples: how often its limits hold, and how its objective is distributed.

These are estimates of the world, each with an interval; what is proved of the samples that the design was chosen on
stands beside them in an answer, never among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, NamedTuple

from dse.system.records import dataclass


class Estimate(NamedTuple):
    """A number estimated from samples, with the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the interval."""
        return self.low, self.high


@dataclass(frozen=True, slots=True)
class Kept:
    """How often limits held together in fresh samples; ``asked``: None where no probability was."""

    names: tuple[str, ...]
    asked: float | None
    held: Estimate

    @property
    def broken(self) -> bool:
        """Whether even the upper end of the interval lies below what was asked."""
        return self.asked is not None and self.held.high < self.asked

    @property
    def words(self) -> str:
        """Say it in a sentence."""
        several = "holds" if len(self.names) == 1 else "hold"
        ends = f"95 % interval {percent(self.held.low)} to {percent(self.held.high)}"
        text = f"{' and '.join(self.names)} {several} in {percent(self.held.value)} of fresh samples ({ends})"
        return text if self.asked is None else f"{text}; {percent(self.asked)} was asked"


@dataclass(frozen=True, slots=True)
class Fresh:
    """A design in ``count`` independent random samples drawn with ``seed``, not those that it was chosen on.

    ``limits``: each promise of a probability, then each other limit that fails in some sample. ``mean``: of the
    objective over the samples in which it is finite (``finite``: their share), ``quantiles``: by their share.
    ``measures``: of each name that stands for a measure of a metric what it comes to; of one at its worst the share of
    samples that are no worse.
    """

    count: int
    seed: int
    limits: tuple[Kept, ...] = ()
    mean: Estimate | None = None
    quantiles: Mapping[float, Estimate] = field(default_factory=dict)
    finite: float = 1.0
    measures: Mapping[str, Estimate] = field(default_factory=dict)

    @property
    def broken(self) -> tuple[Kept, ...]:
        """The promises that fresh samples contradict."""
        return tuple(k for k in self.limits if k.broken)

    def told(self) -> dict[str, Any]:
        """Return it as plain data, for JSON; ``read`` takes it back."""
        return {
            "samples": self.count,
            "seed": self.seed,
            "limits": [
                {"limits": list(k.names), "asked": k.asked, "held": k.held._asdict(), "broken": k.broken}
                for k in self.limits
            ],
            "mean": None if self.mean is None else self.mean._asdict(),
            "quantiles": {f"{q:g}": e._asdict() for q, e in self.quantiles.items()},
            "finite": self.finite,
            **({"measures": {n: e._asdict() for n, e in self.measures.items()}} if self.measures else {}),
        }


def read(record: Mapping[str, Any]) -> Fresh:
    """Return what ``Fresh.told`` wrote; raises KeyError, TypeError or ValueError where it is something else."""
    mean = record["mean"]
    return Fresh(
        int(record["samples"]),
        int(record["seed"]),
        tuple(
            Kept(
                tuple(map(str, k["limits"])),
                None if k["asked"] is None else float(k["asked"]),
                _estimate(k["held"]),
            )
            for k in record["limits"]
        ),
        None if mean is None else _estimate(mean),
        {float(q): _estimate(e) for q, e in record["quantiles"].items()},
        float(record["finite"]),
        {str(n): _estimate(e) for n, e in record.get("measures", {}).items()},
    )


def _estimate(record: Mapping[str, Any]) -> Estimate:
    return Estimate(float(record["value"]), float(record["low"]), float(record["high"]))


def percent(share: float) -> str:
    """Write a share in percent, with as many digits as tell it from 100."""
    digits = 1 if share < 0.999 or share == 1.0 else 3
    return f"{100.0 * share:.{digits}f} %"

"""What measuring says on the terminal, and as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dse.measuring.conditions import advice
from dse.measuring.session import Measured
from dse.measuring.writing import rate
from dse.quantities import show
from dse.system.columns import aligned


def text(found: Measured) -> str:
    """Return the figures, the conditions and what there is to note."""
    lines = [f"{found.name}: {len(found.runs)} runs, {found.date}"]
    lines += [f"{k}: {v}" for k, v in (found.facts | dict(found.conditions.facts)).items()]
    rows = [("what", "threads", "sustained", "spread", "by")]
    for n in found.threads:
        rows += [(f.meaning, str(n), rate(f), f"{f.spread:.1%}", f.kernel) for f in found.figures(n)]
    lines += ["", *aligned(rows)]
    if found.costs:
        costs = [(c.name, show(c.value, c.unit, 4), c.doubt) for c in found.costs]
        lines += ["", *aligned([("energy and power", "value", ""), *costs])]
    lines += ["", *_measured_lines(found)]
    return "\n".join(lines)


def _measured_lines(found: Measured) -> Iterable[str]:
    mean, most, count = found.misses
    if count:
        missed = f"{mean:.1%} on average, {most:.0%} at most"
        yield f"Roofline of these rates against {count} runs of all intensities: misses the time by {missed}"
    yield energy(found)
    if found.against:
        yield "Noisy:"
        yield from (f"  {a}" for a in found.against)
        yield from (f"  to do: {a}" for a in advice(found.conditions.facts))
    else:
        yield f"Quiet: others took {found.conditions.others:.1%} of the processors"
    yield from (f"Note: {n}" for n in found.remarks)


def energy(found: Measured) -> str:
    """Say where the energies come from, and which questions can be asked."""
    if found.meter:
        return f"Energy by {found.meter}: questions of time, energy and power can be asked"
    if found.stated is not None:
        watts = show(found.stated, "W")
        return f"Power stated as {watts} for all runs: energies in answers are this power times the time"
    reasons = "".join(f"\n  {r}" for r in found.unread)
    return (
        f"Energy is not known: only questions of time can be asked{reasons}\n"
        '  to do: state the power (--power "65 W"), or record it by a meter outside (--power FILE)'
    )


def record(found: Measured) -> dict[str, Any]:
    """Return what was found as JSON has words for it, numbers in SI."""
    mean, most, count = found.misses
    return {
        "name": found.name,
        "date": found.date,
        "machine": found.facts,
        "conditions": {
            **found.conditions.facts,
            "others": found.conditions.others,
            "neighbours": list(found.conditions.neighbours),
        },
        "threads": list(found.threads),
        "runs": len(found.runs),
        "measured": not found.against,
        "against": found.against,
        "parameters": {f.name: {"value": f.value, "unit": f.unit, "spread": f.spread} for f in found.times}
        | {c.name: {"value": c.value, "unit": c.unit, "doubt": c.doubt} for c in found.costs},
        "figures": [
            {
                "name": f.name,
                "meaning": f.meaning,
                "threads": f.threads,
                "value": f.value,
                "unit": f.unit,
                "spread": f.spread,
                "repetitions": f.runs,
            }
            for n in found.threads
            for f in found.figures(n)
        ],
        "roofline": {"runs": count, "mean_error": mean, "greatest_error": most}
        if math.isfinite(mean)
        else None,
        "energy": found.meter or ("stated" if found.stated is not None else None),
        "energy_not_read": list(found.unread),
        "notes": found.remarks,
    }

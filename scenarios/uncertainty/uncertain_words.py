"""What is uncertain in a question, in words: distributions, sampling, and by what a design is judged."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dse.quantities import level_text, plural, show
from scenarios.axes.chance_axes import SPREAD
from scenarios.distributions import HALVES, MOST_CUT
from scenarios.uncertainty.promises import JOINT
from scenarios.uncertainty.worst_cases import without_samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scenarios.distributions import Marginal, Measure, Sampling
    from scenarios.question import Question

_METHODS = {
    "sobol": "a scrambled Sobol sequence",
    "random": "independent samples",
    "latin": "a Latin hypercube",
}
_NAMES = {
    "normal": ("mean", "standard deviation"),
    "lognormal": ("median", "geometric standard deviation"),
    "uniform": ("from", "to"),
    "loguniform": ("from", "to"),
    "triangular": ("from", "most probably", "to"),
    "beta": ("shape", "shape", "from", "to"),
    HALVES: ("median", "geometric standard deviation below it", "above it"),
}
_PLAIN = {("lognormal", 1), ("beta", 0), ("beta", 1), (HALVES, 1), (HALVES, 2)}
MOST_LISTED = 8
Levels = Mapping[tuple[str, str], str]
NO_LEVELS: Levels = {}


def distribution(of: Marginal, unit: str) -> str:
    """Say a distribution in a line: "lognormal: median 340 pJ/word, geometric standard deviation 1.2"."""
    if of.kind in _NAMES:
        told = [
            f"{word} {show(v, '' if (of.kind, i) in _PLAIN else unit)}"
            for i, (word, v) in enumerate(zip(_NAMES[of.kind], of.numbers, strict=True))
        ]
        if of.outside() > MOST_CUT:
            below, above = replace(of, high=math.inf).outside(), replace(of, low=-math.inf).outside()
            cuts = [
                show(end, unit) for end, share in ((of.low, below), (of.high, above)) if share > MOST_CUT / 2
            ]
            told += [f"cut at {' and '.join(cuts)}"]
        return f"{'lognormal in halves' if of.kind == HALVES else of.kind}: {', '.join(told)}"
    if of.kind == "values":
        listed = list(zip(of.numbers, of.weights, strict=True))
        told = [f"{show(v, unit)} ({100 * w:.3g} %)" for v, w in listed[:MOST_LISTED]]
        return f"one of {', '.join(told)}" + (", …" if len(listed) > MOST_LISTED else "")
    low, high = of.support()
    ends = f"{show(low, unit)} to {show(high, unit)}"
    if of.kind == "table":
        return f"{plural(len(of.numbers), 'row')} of a table ({of.table[:15]}…), {ends}"
    return f"errors of the fitted model, {ends}"


def sampling(of: Sampling) -> str:
    """Say in a line how worlds are drawn."""
    return f"{plural(of.samples, 'sample')}, {_METHODS[of.method]}, seed {of.seed}"


def worlds(question: Question) -> str:
    """Say in a line over what designs are judged: samples, or at the worst all values."""
    if without_samples(question):
        return f"all values of {plural(len(question.uncertainty.marginals), 'number')}"
    return sampling(question.uncertainty.sampling)


def why(question: Question) -> str:
    """Say which samples a question takes, and why these: means differ a little between them."""
    assert question.uncertain is not None, "only what is uncertain is sampled"
    method = question.uncertain.sampling.method
    promised = question.joint is not None or any(x.probability is not None for x in question.limits)
    if method == "random" and promised:
        return "independent samples, since a limit has a probability; else a Sobol sequence would be taken"
    if method == "sobol" and not promised:
        return "a scrambled Sobol sequence, since no limit has a probability"
    return f"{_METHODS[method]}, as the file asks"


def measure(of: Measure | None, axis: str = "") -> str:
    """Say by what of its distribution an objective is judged; ``axis``: along which its level changes, if it does."""
    if of is None:
        return "none: each sample is decided by itself"
    if axis:
        part = (
            "value within which a part of samples stay" if of.kind == "quantile" else "mean of the worst part"
        )
        return f"the {part}, for each level along {axis}"
    if of.kind == "mean" or (of.kind == "cvar" and not of.level):
        return "the mean"
    if of.kind == "worst":
        return "the worst"
    level = of.level or 0.0
    share = f"{level_text(level, 100)} %"
    return (
        f"the value within which {share} of samples stay"
        if of.kind == "quantile"
        else f"the mean of the worst {level_text(1 - level, 100)} %"
    )


def named(of: Measure, name: str = "", *, swept: bool = False) -> str:
    """Say a measure in a few words: "mean of energy"; ``name``: of the metric, where the measure does not say it.

    ``swept``: whether its level is another one at each point.
    """
    what = of.of or name
    if swept:
        return f"{'quantile' if of.kind == 'quantile' else 'mean of the worst part'} of {what}"
    if not of.level:
        return f"{'mean' if of.kind == 'cvar' else of.kind} of {what}"
    if of.kind == "quantile":
        return f"{level_text(of.level, 100)} % quantile of {what}"
    return f"mean of the worst {level_text(1 - of.level, 100)} % of {what}"


def record(question: Question, swept: Levels = NO_LEVELS) -> dict[str, str]:
    """Return what is uncertain, and what depends on it, in words by key; nothing where all is known.

    ``swept``: of the first question of a grid, what axes change of that (``Grid.levels``).
    """
    return dict(_uncertain_entries(question, swept))


def _uncertain_entries(question: Question, swept: Levels) -> Iterator[tuple[str, str]]:
    found = question.uncertain
    if found is None:
        return
    units = {n: q.unit for n, q in question.model.parameters().items()}
    for name, marginal in found.marginals.items():
        told = distribution(marginal, units.get(name, ""))
        along = swept.get((SPREAD, name))
        yield f"uncertain.{name}", f"{marginal.kind}: for each spread along {along}" if along else told
    none = "none, the worst is over " if without_samples(question) else ""
    yield "uncertain.sampling", none + worlds(question)
    if found.sampling.correlation:
        yield "uncertain.correlation", json.dumps(found.sampling.correlation)
    if not question.measures or question.measure is not None:
        yield "objective.measure", measure(question.measure, swept.get(("measure", ""), ""))
    for name, of in question.measures.items():
        along = swept.get(("measure", name))
        level = f", for each level along {along}" if along else ""
        yield f"objective.measures.{name}", named(of, swept=bool(along)) + level
    for x in question.limits:
        if x.probability is not None:
            along = swept.get(("probability", x.name), "")
            yield f"limits.{x.name}.probability", _probability(x.probability, x.confidence, along)
        elif x.worst:
            yield f"limits.{x.name}.worst", "whatever the uncertain numbers are"
    if question.joint is not None:
        along = swept.get(("probability", JOINT), "")
        told = _probability(question.joint.probability, question.joint.confidence, along)
        yield "limits.joint", f"{', '.join(question.joint.of)} together: {told}"


def _probability(level: float, confidence: float, axis: str) -> str:
    sure = f", with confidence {level_text(confidence)}" if confidence else ", in the samples"
    return (
        f"holds with {f'each probability along {axis}' if axis else f'probability {level_text(level)}'}{sure}"
    )

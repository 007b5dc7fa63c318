"""An answer for people: a table for the terminal, HTML for the notebook, both from the same parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dse.quantities import plural
from dse.system.streams import visible
from results.telling import family_tables, limit_rows, sizes, sources, words
from results.telling.facts import Alternative, Facts, Status
from results.telling.fresh import percent
from results.telling.limits import of_range
from results.telling.parts import Part, as_text, cut, drawn, html_table, safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult


_PROOF = dict.fromkeys((Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED), "proof")
TEXT_WIDTH = 100
INDENT = 2
TOP = 6
MOST_CHOICES_SHOWN = 24
COLOURS = {
    Status.OPTIMAL: "green",
    Status.EVALUATED: "green",
    Status.FEASIBLE: "yellow",
    Status.INFEASIBLE: "red",
    Status.UNBOUNDED: "red",
    Status.ERROR: "red",
}


def head(solution: Facts) -> list[tuple[str, str]]:
    """Return the facts above the tables: status, objective, certificate, as (label, text)."""
    solution = sizes.as_asked(solution)
    goal = solution.objective_name
    least = "greatest" if solution.maximize else "least"
    alone = solution.status in {Status.EVALUATED, Status.INFEASIBLE}
    reached = ", ".join(n for n, x in solution.limits.items() if x.binding and of_range(n))
    beyond = ", ".join(f"{n} {v:.6g}" for n, v in solution.outside.items())
    waived = f"the model's own limits {', '.join(solution.waived)} (as asked)"
    best = solution.next_best
    counts = " and ".join(solution.fractions)
    facts = [
        ("status", words.status(solution), True),
        (goal if alone else f"{least} {goal}", words.objective(solution), goal),
        ("next best", "" if best is None else words.next_best(solution, best), goal),
        ("measure", solution.measure, True),
        ("samples", solution.sampling, True),
        ("unbounded in", solution.runaway, solution.runaway not in solution.message),
        ("held by", "; ".join(words.end(solution, n, side) for n, side in solution.held.items()), True),
        ("held by", f"the range of the measurements ({reached}); outside it the model extrapolates", reached),
        ("set aside", waived, solution.waived),
        (
            "beware",
            "without the range of the measurements the model may extrapolate",
            any(map(of_range, solution.waived)),
        ),
        (
            "beware",
            "time is infinite: the work is never done; a limit on time leaves such designs out",
            _never(solution),
        ),
        ("note", f"{counts} need not be whole here: integer = true asks for whole numbers", counts),
        ("outside", f"the range in which the model was derived: {beyond}, at most 1", beyond),
        ("left out", solution.left_out, True),
        (_PROOF.get(solution.status, "method"), solution.certificate, True),
        ("message", solution.message, True),
        ("solved by", f"{solution.solver} in {words.value(solution.seconds, 's', 3)}", solution.solver),
    ]
    return [(label, text) for label, text, there in facts if text and there]


def _never(solution: Facts) -> bool:
    """Whether what was found never does its work."""
    return solution.status is not Status.EVALUATED and solution.metrics.get("time") == math.inf


def parts(solution: Facts) -> list[Part]:
    """Return the tables of an answer, those without rows left out."""
    solution = sizes.as_asked(solution)
    found = [
        *_conflicts(solution),
        _decided_table(solution),
        *family_tables.decided(solution),
        _of_metrics(solution),
        *family_tables.reported(solution),
        Part(
            "in words",
            ("name", "text"),
            tuple(
                (n, words.metric(solution, n, v))
                for n, v in solution.metrics.items()
                if _in_words(solution, n)
            ),
        ),
        Part("where the machine's numbers come from", ("kind", "numbers"), _sources(solution)),
        Part("limits", ("limit", "asked", "value", "slack", "sensitivity"), _limit_table_rows(solution)),
        *_fresh(solution),
        Part(
            _heading(solution),
            ("parameter", f"sensitivity of {solution.objective_name}"),
            tuple(
                (name, f"{e:+.3g} %/%{_side(solution, name, e)}")
                for name, e in _parameters_that_matter(solution)[:TOP]
            ),
        ),
        _choices_table(solution),
    ]
    return [part for part in found if part.rows]


def refusals(solution: Facts) -> list[Part]:
    """Return the tables that say why an infeasible question has no design, and what would do; else none."""
    if solution.status is not Status.INFEASIBLE:
        return []
    solution = sizes.as_asked(solution)
    return [part for part in (*_conflicts(solution), _choices_table(solution)) if part.rows]


def _conflicts(solution: Facts) -> tuple[Part, Part]:
    return (
        Part(_of_sets(solution), ("set", "limits"), _sets_of_limits(solution)),
        Part(_clash(solution), ("limit", "feasible if"), tuple(words.conflict(solution))),
    )


def _choices_table(solution: Facts) -> Part:
    return Part(_of_choices(solution), _heads_of_choices(solution), _choice_rows(solution))


def _of_sets(solution: Facts) -> str:
    return f"{len(solution.conflicts)} sets of limits that conflict: in each of them one has to give"


def _sets_of_limits(solution: Facts) -> tuple[tuple[str, str], ...]:
    """Return the sets of limits that conflict, where they are several."""
    told = words.clashes(solution) if words.several_sets(solution) else []
    return tuple((str(i), text) for i, text in enumerate(told, 1))


def _clash(solution: Facts) -> str:
    if words.several_sets(solution):
        return "one limit changed, all others kept"
    if len(solution.conflict) == 1:
        return "this limit cannot be met"
    alone = words.by_themselves(solution)
    return "none of these limits can be met" if alone else "these limits cannot hold together"


def _heading(solution: Facts) -> str:
    more = len(_parameters_that_matter(solution)) - TOP
    return "sensitivity to parameters" + (
        f" (the {TOP} that matter most; {more} more in --json)" if more > 0 else ""
    )


def _decided_table(solution: Facts) -> Part:
    """Return the table of what was decided outside of lists; what else is as good only where something is."""
    alone = {n: v for n, v in solution.variables.items() if n not in solution.index}
    rows = tuple(
        (n, words.metric(solution, n, v), family_tables.interval(solution, n)) for n, v in alone.items()
    )
    columns = ("name", "value", family_tables.OPTIMAL_RANGE)
    if any(n in solution.ranges for n in alone):
        return Part("variables", columns, rows)
    return Part("variables", columns[:2], tuple(row[:2] for row in rows))


def _of_metrics(solution: Facts) -> Part:
    """Return the table of metrics; of many worlds their means and where nine tenths of them lie."""
    rows = tuple(
        (n, words.metric(solution, n, v))
        for n, v in solution.metrics.items()
        if n not in solution.index and not _in_words(solution, n)
    )
    if not solution.spread:
        return Part("metrics", ("name", "value"), rows)
    told = {n: [words.metric(solution, n, v) for v in ends] for n, ends in solution.spread.items()}
    wider = tuple((n, v, solution.measures.get(n, _range(v, told.get(n, ())))) for n, v in rows)
    if solution.world == "sample":
        return Part(
            f"metrics over {plural(solution.worlds, 'sample')}", ("name", "mean", "5 % … 95 %"), wider
        )
    if solution.worlds == 1:
        at = solution.world
        return Part(
            f"metrics, and their values at the {at} tried", ("name", "nominal", f"at the {at}"), wider
        )
    return Part("metrics, and their range over the values tried", ("name", "nominal", "range"), wider)


def _range(value: str, ends: Sequence[str]) -> str:
    """Write a range; of ends alike as printed one, and nothing where that is the value beside it."""
    return " … ".join(e for e in dict.fromkeys(ends) if {*ends} != {value})


def _fresh(solution: Facts) -> list[Part]:
    """Return what the design comes to in samples that it was not chosen on, as tables."""
    fresh = solution.fresh
    if fresh is None:
        return []
    held = tuple(
        (
            " and ".join(k.names),
            "" if k.asked is None else percent(k.asked),
            percent(k.held.value),
            f"{percent(k.held.low)} … {percent(k.held.high)}",
            "fewer than asked" if k.broken else "",
        )
        for k in fresh.limits
    )
    name, told = solution.objective_name, []
    if fresh.mean is not None:
        told = [("mean", fresh.mean), *((f"{100 * q:g} %", e) for q, e in fresh.quantiles.items())]
    rows = tuple((what, *(words.metric(solution, name, v) for v in e)) for what, e in told)
    measures = tuple((n, *(_of_measure(solution, n, v) for v in e)) for n, e in fresh.measures.items())
    heading = f"estimated in {fresh.count} fresh samples (random, seed {fresh.seed})"
    return [
        Part(heading, ("limit", "asked", "holds in", "95 % interval", ""), held),
        Part(f"{name} in fresh samples", ("statistic", "estimate", "at least", "at most"), rows),
        Part("measures in fresh samples", ("measure", "estimate", "at least", "at most"), measures),
    ]


def _of_measure(solution: Facts, name: str, v: float) -> str:
    """Write an estimate of a measure; that of the worst is the share of samples that are no worse."""
    worst = solution.measures.get(name, "").startswith("worst")
    return f"{percent(v)} no worse" if worst else words.metric(solution, name, v)


def _in_words(solution: Facts, name: str) -> bool:
    return any(" " in flag for flag in solution.flags.get(name, ()))


def _sources(solution: Facts) -> tuple[tuple[str, ...], ...]:
    """Return the kinds of the machine's numbers, each with its parameters; metrics follow from them."""
    if not solution.sources or not solution.metrics:
        return ()
    return (*sources.rows(solution.sources), ("by the model, from these", "all metrics"))


def _limit_table_rows(solution: Facts) -> tuple[tuple[str, ...], ...]:
    if solution.status is Status.INFEASIBLE and not solution.metrics:
        return ()
    return limit_rows.rows(solution)


def _side(solution: Facts, name: str, elasticity: float) -> str:
    if name not in solution.one_sided:
        return ""
    return f" (only for {'more' if (elasticity > 0) == solution.maximize else 'less'} of it)"


def _parameters_that_matter(solution: Facts) -> list[tuple[str, float]]:
    """Return the parameters by how much they matter, without those that have no effect."""
    felt = [(n, e) for n, e in solution.parameters.items() if abs(e) >= words.NOTICEABLE]
    return sorted(felt, key=lambda item: -abs(item[1]))


def _of_choices(solution: Facts) -> str:
    more = len(solution.alternatives) - MOST_CHOICES_SHOWN
    return "alternatives" + (f" (the {MOST_CHOICES_SHOWN} best; {more} more in --json)" if more > 0 else "")


def _heads_of_choices(solution: Facts) -> tuple[str, ...]:
    """Return the heads of the table of choices: of several decisions their names, no ratio where none has a design."""
    names = list(solution.alternatives[0].choice) if solution.alternatives else []
    head = ", ".join(names) if len(names) > 1 else "choice"
    if all(a.objective is None for a in solution.alternatives):
        return head, "remark"
    return head, solution.objective_name or "objective", "ratio to the chosen", "remark"


def _choice_rows(solution: Facts) -> tuple[tuple[str, ...], ...]:
    """Return the choices in file order; of many the best, best first."""
    told = solution.alternatives
    if len(told) > MOST_CHOICES_SHOWN:
        worst, sign = math.inf, -1.0 if solution.maximize else 1.0
        reached = [worst if a.objective is None else sign * a.objective for a in told]
        told = tuple(told[i] for i in sorted(range(len(told)), key=reached.__getitem__)[:MOST_CHOICES_SHOWN])
    return tuple(_choice(solution, a) for a in told)


def _choice(solution: Facts, told: Alternative) -> tuple[str, ...]:
    unit = solution.units.get(solution.objective_name, "")
    reached = "" if told.objective is None else words.value(told.objective, unit)
    remark = told.status.value + words.unless(solution, told.conflict, told.between)
    chosen = all(solution.variables.get(n) == c for n, c in told.choice.items())
    beside = "" if chosen else _ratio_to_chosen(solution, told.objective)
    named = ", ".join(words.metric(solution, n, c) for n, c in told.choice.items())
    if all(a.objective is None for a in solution.alternatives):
        return named, remark
    return named, reached, beside, remark + (" (chosen)" if chosen else "")


def _ratio_to_chosen(solution: Facts, objective: float | None) -> str:
    """Say how many times the chosen one's objective another choice has; nothing where that says nothing."""
    base = solution.objective
    if objective is None or not base or not math.isfinite(objective / base) or objective / base < 0:
        return ""
    return f"{objective / base:.3g} times"


def renderable(solution: Facts) -> RenderableType:
    """Build what rich prints; whatever came from a file is shown as it is, never read as markup."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    pieces: list[RenderableType] = []
    if solution.title:
        pieces.append(Text(visible(solution.title), style="bold"))
    facts = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    facts.add_column(no_wrap=True, style="dim")
    facts.add_column()
    for label, text in head(solution):
        colour = COLOURS[solution.status] if label == "status" else ""
        facts.add_row(Text(visible(label)), Text(visible(text), style=colour))
    pieces.append(facts)
    return Group(*pieces, *(_Cut(part) for part in parts(solution)))


class _Cut:
    """A part as rich prints it: in several tables where the page is too narrow for one."""

    def __init__(self, part: Part) -> None:
        self.part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.padding import Padding
        from rich.text import Text

        for piece in cut(self.part, options.max_width - INDENT):
            yield Text("\n" + visible(piece.heading), style="bold")
            yield Padding(drawn(piece.columns, piece.rows, piece.numbers), (0, 0, 0, INDENT))


def to_text(solution: Facts, width: int = TEXT_WIDTH) -> str:
    """Write an answer as plain text of at most ``width`` columns, without colours."""
    return as_text(renderable(solution), width)


def to_html(solution: Facts) -> str:
    """Write an answer as an HTML fragment; all text is escaped, nothing from a file becomes markup."""
    title = f"<h4>{safe(solution.title)}</h4>" if solution.title else ""
    facts = "".join(f"<tr><th>{safe(a)}</th><td>{safe(b)}</td></tr>" for a, b in head(solution))
    tables = "".join(f"<h5>{safe(p.heading)}</h5>{html_table(p.columns, p.rows)}" for p in parts(solution))
    return f'<div class="dse-solution">{title}<table>{facts}</table>{tables}</div>'

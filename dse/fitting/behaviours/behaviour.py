"""A measured column as a sum, softmax or maximum of monomials of other columns: the fit, and how far off it is."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.fitting.asked import Asked, asked, derived
from dse.fitting.behaviours import behaviour_picture, behaviour_report, bootstrap, forms, hulls, ways
from dse.fitting.behaviours.logfit import LOSSES, Form, Loss, log_value
from dse.fitting.behaviours.ways import Way
from dse.fitting.errors import FittingError, save
from dse.fitting.held_out import FOLDS, HeldOut, folds, held_out
from dse.fitting.reading import Measurements, read
from dse.fitting.table import table
from dse.models.described import model_text
from dse.models.described.fitted import FORMS, POSYNOMIAL, SOFTMAX, Fitted, Term
from dse.models.described.fitted import Column as Ranged
from dse.names import unknown
from dse.system.arrays import Array, Bools
from dse.system.progress import Report
from dse.system.records import dataclass
from dse.version import VERSION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST_RUNS = 8
WORST_RUNS = 8
# a fit that misses held-out runs by more on average is not written unless that is asked for
DOUBTFUL = 0.5


@dataclass(frozen=True, slots=True)
class Estimated:
    """A coefficient of a sum with its interval, which begins at 0 where the runs do not show it."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A fitted model with what is known of its errors.

    ``fitted``: what the file will say; ``held``: errors on runs held out; ``measured``, ``modelled``: of each run,
    by the fit to all of them, SI; ``numbers``: the columns; ``lines``: of the runs in the file; ``estimates``:
    coefficients of a sum with intervals (95 %); ``notes``: what the user should know.
    """

    fitted: Fitted
    held: HeldOut
    measured: Array
    modelled: Array
    numbers: Mapping[str, Array]
    lines: tuple[int, ...]
    estimates: tuple[Estimated, ...]
    method: str
    notes: tuple[str, ...] = ()

    @property
    def distrust(self) -> str:
        """Why the fit is not a model of the runs; empty where it is one."""
        if self.held.mean <= DOUBTFUL:
            return ""
        return f"runs held out are missed by {self.held.mean:.0%} on average: the form does not describe them"

    @property
    def error(self) -> float:
        """Mean of |modelled/measured - 1| on the runs that were fitted."""
        return float(np.abs(self.modelled / self.measured - 1).mean())

    def worst(self) -> list[int]:
        """Return the runs (counted from 0) that the fit to all misses most, the worst first."""
        far = np.abs(np.log(self.modelled / self.measured))
        return [int(i) for i in np.argsort(-far, kind="stable")[:WORST_RUNS]]

    def where(self, run: int) -> str:
        """Say which run is meant, by its line where there is a file."""
        return f"line {self.lines[run]}" if self.lines else f"run {run + 1}"

    def file(self, name: str = "") -> str:
        """Return the model file, TOML; ``name``: of the file (default: that of the model)."""
        called = name or f"{self.fitted.name}.toml"
        head = (f'Fitted by dse {VERSION}. In a scenario: model = "./{called}"', self.method)
        return model_text.written(self.fitted, head)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the model file.

        Raises StoreError where it cannot be written; FittingError, unless ``force``, where ``distrust`` says why not.
        """
        return save(path, self.file(Path(path).name), self.fitted.source, self.distrust, force=force)

    def plot(self) -> Figure:
        """Draw the model against what was measured, and the residuals by column."""
        return behaviour_picture.draw(self)

    def record(self) -> dict[str, Any]:
        """Return everything as JSON has words for it."""
        return behaviour_report.record(self)

    def __str__(self) -> str:
        return behaviour_report.text(self)


def fit(
    data: Any,
    target: str,
    of: str | Sequence[str],
    *,
    form: str = POSYNOMIAL,
    terms: int | None = None,
    free: bool = False,
    group: str | Sequence[str] = (),
    fold_count: int = FOLDS,
    loss: Loss = "tukey",
    coverage: float = 0.9,
    hull: bool = False,
    also: Sequence[str] = (),
    name: str | None = None,
    title: str = "",
    date: str | None = None,
    headers: Mapping[str, str] | None = None,
    progress: Report | None = None,
) -> Behaviour:
    """Fit a column of measured runs as a function of others.

    ``data``: path of a CSV file, a DataFrame, or a mapping of columns. ``target``: the column to fit, ``of``: those it
    is a function of; a unit stands behind, "latency = ms", where the header has none. ``form``: "posynomial" (terms
    found on a lattice of exponents), "softmax" or "max" (of monomials with free exponents), or a form that is written
    out, "a + b * m * n * k", of which only the coefficients are fitted. ``terms``: how many (None: as many as lower
    the held-out error). ``free``: the exponents of a posynomial leave the lattice. ``group``: columns whose values are
    held out together, such as "n, k"; else runs are. ``fold_count``: how many folds are held out in turn. ``loss``:
    "tukey" (forgets runs that are far off), "huber" (weighs them less), "squares", or "error": the mean of
    |modelled/measured - 1| itself over runs that are not far off. ``coverage``: of the prediction interval.
    ``hull``: limit the model to the convex hull of the runs in logarithms, beside their box. ``also``:
    quantities that follow from columns and target, "performance [flop/s] = 2 * m * n * k / latency". ``name``,
    ``title``: of the model; ``date``: of the fit (default: today). ``headers``: in which header a column stands, by
    its name. ``progress`` is told how many of how many parts are done. Raises FittingError with everything that is
    wrong, UnknownName for a form or loss that there is not, ValueError for options that contradict each other.
    """
    if loss not in LOSSES:
        raise unknown("loss", loss, LOSSES)
    if not 0 < coverage < 1:
        raise ValueError(f"a coverage lies between 0 and 1, such as 0.9, not {coverage!r}")
    if terms is not None and terms < 1:
        raise ValueError(f"terms = {terms} is not a number of terms")
    cells = table(data)
    wanted = asked(cells, target, of, group, headers or {})
    runs = read(data, wanted.columns(), wanted.names())
    follows = derived(also, wanted)
    way = _way(form, terms, loss, wanted, free=free)
    _require_runs(runs, wanted, way)
    return _Fit(runs, wanted, way, coverage, fold_count, progress or (lambda done, total: None)).made(
        name or _name(data), title, date, follows, hull=hull
    )


def _name(data: Any) -> str:
    stem = Path(data).stem if isinstance(data, str | Path) else "fitted"
    kept = "".join(c if (c.isalnum() and c.isascii()) or c in "_.-" else "-" for c in stem).strip("-._")
    return kept or "fitted"


def _way(form: str, terms: int | None, loss: Loss, wanted: Asked, *, free: bool) -> Way:
    if form in FORMS:
        return Way(form, terms, free and form == POSYNOMIAL, loss)
    if form.isalpha():
        raise unknown("form", form, FORMS)
    written = forms.parse(form, wanted.of)
    if terms is not None or free:
        raise ValueError("terms and free exponents are for forms that are found, not for one that is written")
    return Way(written.form, None, False, loss, written, wanted.of)


def _require_runs(runs: Measurements, wanted: Asked, way: Way) -> None:
    """Refuse runs that cannot show the form, with all that is missing."""
    problems = []
    parameters = len(way.written.coefficients) if way.written is not None else 1
    if runs.runs < max(LEAST_RUNS, 2 * parameters):
        problems.append(
            f"{runs.runs} runs are too few: at least {max(LEAST_RUNS, 2 * parameters)} are needed"
        )
    for column in wanted.of:
        if runs.runs and np.ptp(runs.numbers[column]) == 0:
            value = float(runs.numbers[column][0])
            problems.append(
                f"column {column} is {value:g} in every run: leave it out of --of, or add runs with others"
            )
    if runs.runs and np.ptp(runs.numbers[wanted.target]) == 0:
        problems.append(f"column {wanted.target} is the same in every run: there is nothing to fit")
    if problems:
        raise FittingError(runs.source, problems)


class _Fit:
    """The parts of one fit, in the order in which they are done."""

    def __init__(
        self, runs: Measurements, wanted: Asked, way: Way, coverage: float, fold_count: int, progress: Report
    ) -> None:
        self.runs, self.wanted, self.way, self.coverage = runs, wanted, way, coverage
        raw = np.log(np.column_stack([runs.numbers[c] for c in wanted.of]))
        self.middle = raw.mean(0)
        self.x = raw - self.middle
        self.y = runs.numbers[wanted.target]
        self.groups = wanted.groups(runs)
        self.fold = folds(self.groups, fold_count)
        self.inseparable: list[list[str]] = []
        self.progress = progress
        self.parts, self.done = int(self.fold.max()) + 4, 0

    def _tick(self) -> None:
        self.done = min(self.done + 1, self.parts)
        self.progress(self.done, self.parts)

    def made(
        self, name: str, title: str, date: str | None, follows: Sequence[Any], *, hull: bool
    ) -> Behaviour:
        terms = ways.count(self.way, self.x, self.y, self.groups)
        self._tick()
        form = ways.solve(self.way, self.x, self.y, self.middle, terms)
        self._tick()
        modelled = np.exp(log_value(form, self.x))
        sampled = self.way.form == POSYNOMIAL and len(self.x) > ways.LATTICE_RUNS
        held = self._held(terms, form if self.way.found and sampled else None)
        # folds that miss less than the whole have found better terms than those of the file
        if self.way.found and np.abs(modelled / self.y - 1).mean() > held.mean:
            held = self._held(terms, form)
        estimates = self._estimates(form)
        self._tick()
        day = date or datetime.datetime.now(datetime.UTC).date().isoformat()
        source = f"{Path(self.runs.source).name} (sha256 {self.runs.digest[:16]}…), {self.runs.runs} runs, fitted {day}"
        fitted = self._fitted(form, name, title, source, held, estimates)
        facets = hulls.facets(self.x + self.middle, self.wanted.of) if hull else ()
        fitted = replace(fitted, derived=tuple(follows), hull=facets)
        self._tick()
        return Behaviour(
            fitted,
            held,
            self.y,
            modelled,
            {c: self.runs.numbers[c] for c in self.wanted.of},
            self.runs.lines,
            estimates,
            self._method(len(form.logc)),
            tuple(self._notes(form, hull and not facets)),
        )

    def _held(self, terms: int, own: Form | None) -> HeldOut:
        """Return the errors of runs held out; ``own``: whose terms are fitted without them, None: terms found anew."""

        def fit(rows: Bools) -> Any:
            places = np.flatnonzero(rows)
            places = places[ways.some(len(places), ways.MOST_RUNS_COMPARED, 2)]
            x, y = self.x[places], self.y[places]
            if own is None:
                form = ways.solve(self.way, x, y, self.middle, terms, ways.FOLD_STARTS)
            else:
                form = ways.with_terms(self.way, own, x, y)
            self._tick()
            return lambda out: log_value(form, self.x[out])

        many = int(self.fold.max()) + 1
        by = f"whole values of {', '.join(self.wanted.group)}" if self.wanted.group else "runs"
        return held_out(self.y, self.fold, self.groups, fit, f"{many} folds of {by}", self.coverage)

    def _estimates(self, form: Form) -> tuple[Estimated, ...]:
        """Intervals of the coefficients of a sum; those of a softmax cannot be told from its exponents one by one."""
        if self.way.form != POSYNOMIAL or self.way.free:
            return ()
        if self.way.written is not None:
            start, names = (
                ways.base(self.way.written, self.wanted.of, self.middle),
                self.way.written.coefficients,
            )
        else:
            start = replace(form, logc=np.zeros(len(form.logc)))
            names = tuple(Term(1.0, self._powers(e)).text("") or "constant" for e in form.exponents)
        terms = ways.design(start, self.x)
        value, low, high = bootstrap.intervals(terms, self.y, self.groups, self.way.loss)
        alike = bootstrap.inseparable(terms, self.y)
        self.inseparable = [[names[i] for i in g] for g in alike]
        low, high = bootstrap.shared(terms, self.y, alike, value, low, high)
        unit = np.ones(len(names)) if self.way.written is not None else np.exp(-form.exponents @ self.middle)
        rows = zip(names, value * unit, low * unit, high * unit, strict=True)
        return tuple(Estimated(n, float(v), float(a), float(b)) for n, v, a, b in rows)

    def _powers(self, exponents: Array) -> dict[str, float]:
        return {
            c: float(round(e, 12)) for c, e in zip(self.wanted.of, exponents, strict=True) if round(e, 12)
        }

    def _fitted(
        self, form: Form, name: str, title: str, source: str, held: HeldOut, estimates: Sequence[Estimated]
    ) -> Fitted:
        plain = form.shifted(-self.middle)
        rows = zip(plain.logc, plain.exponents, plain.group, strict=True)
        terms = [Term(math.exp(logc), self._powers(e), int(group)) for logc, e, group in rows]
        of = {e.name: e for e in estimates}
        if estimates:
            # what has no value is left out of the form, in which terms keep their order
            written = () if self.way.written is None else self.way.written.terms
            kept = [(of[t.coefficient], t.factor) for t in written if of[t.coefficient].value > 0]
            kept = kept or [(e, 1.0) for e in estimates if e.value > 0]
            terms = [
                replace(t, interval=(e.low * f, e.high * f)) for t, (e, f) in zip(terms, kept, strict=True)
            ]
        kind = self.way.form if form.groups > 1 else POSYNOMIAL
        if kind == POSYNOMIAL:
            terms = [replace(t, group=0) for t in terms]
        x = [self.runs.numbers[c] for c in self.wanted.of]
        return Fitted(
            name=name,
            target=self.wanted.target,
            unit=self.wanted.units[self.wanted.target],
            columns=tuple(
                Ranged(c, self.wanted.units[c], float(v.min()), float(v.max()))
                for c, v in zip(self.wanted.of, x, strict=True)
            ),
            form=kind,
            terms=tuple(terms),
            source=source,
            sharpness=form.sharpness if kind == SOFTMAX else math.inf,
            title=title,
            error={
                "split": held.split,
                "runs": self.runs.runs,
                "mean": held.mean,
                "median": held.median,
                "greatest": held.greatest,
                "confidence": held.confidence,
                "coverage": held.coverage,
                "low": held.low,
                "high": held.high,
            },
            residuals=held.quantiles(),
            notes="; ".join(self._notes_of_coefficients(form)),
        )

    def _method(self, terms: int) -> str:
        written = self.way.written
        if written is not None:
            how = (
                "non-negative least squares"
                if self.way.form == POSYNOMIAL
                else "Levenberg-Marquardt on logarithms"
            )
            return f"coefficients of {written.text.strip()} by {how}, loss {self.way.loss}"
        if self.way.form == POSYNOMIAL:
            where = "exponents then free" if self.way.free else "exponents on a lattice"
            return f"a sum of {terms} monomials, {where}, by non-negative least squares, loss {self.way.loss}"
        return (
            f"a {self.way.form} of {terms} monomials with free exponents, on logarithms, loss {self.way.loss}"
        )

    def _notes_of_coefficients(self, form: Form) -> list[str]:
        """Say which coefficients the runs do not show, and which they cannot tell apart."""
        found = [
            f"the runs cannot tell {', '.join(g)} apart, whose terms make up for each other in all of them; each has "
            "the interval that it has whatever the others are"
            for g in self.inseparable
        ]
        gone = ways.left_out(self.way, form, self.middle)
        if gone:
            found.append(f"{', '.join(gone)} not visible in these runs: 0, and left out of the file")
        return found

    def _notes(self, form: Form, hullless: bool) -> list[str]:
        found = self._notes_of_coefficients(form)
        if not self.wanted.group and self._repeats() > 0.2:
            found.append(
                "many runs share their columns with others: hold out whole groups with --group, so that no run held "
                "out is a copy of a fitted one"
            )
        if hullless:
            found.append("the convex hull was left out: the runs span no volume in these columns")
        if self.runs.unused:
            found.append(f"columns not used: {', '.join(self.runs.unused)}")
        return [*found, *self.runs.notes]

    def _repeats(self) -> float:
        return 1 - len(np.unique(np.round(self.x, 9), axis=0)) / len(self.x)

"""A linear or mixed-integer program as a Pyomo model, its variables and constraints under the user's names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo import gdp

from dse.system.arrays import Array
from formulations import evaluation
from formulations.arithmetics.forms import Atom, Differs, Entry, Largest, Maximum, Part, Some
from formulations.programs.program import Program, linear_cost
from formulations.pyomo_models.user_variables import NoModel

# a continuous variable whose coefficients are within these is left in SI
USUAL = 1e-4, 1e4


def labels(p: Program) -> tuple[str, ...]:
    """A name for every column: the variable's own, or what an atom says with a number where there are several.

    ``share.a.cpu``, ``setting.a = fast``, ``setting.a differs from setting.b``, ``largest_1``, ``any_1``.
    """
    count = {Maximum: 0, Some: 0}
    found = []
    for atom in p.columns:
        if isinstance(atom, Maximum | Some):
            count[type(atom)] += 1
            found.append(f"{'largest' if isinstance(atom, Maximum) else 'any'}_{count[type(atom)]}")
        else:
            found.append("" if isinstance(atom, Largest | Part) else _column_label(p, atom))
    for i, atom in enumerate(p.columns):
        if isinstance(atom, Largest):
            found[i] = f"{found[p.columns.index(atom.of)]} is its term {atom.place + 1}"
    return tuple(found)


def _column_label(p: Program, atom: str | Entry | Differs) -> str:
    if isinstance(atom, Entry):
        return f"{atom.name} = {entry_name(p, atom)}"
    return f"{atom.one} differs from {atom.other}" if isinstance(atom, Differs) else atom


def entry_name(p: Program, entry: Entry) -> str:
    """The name of an entry of a menu, or the number where the menu has none."""
    d = next(d for d in p.question.decide if d.name == entry.name)
    value = (d.values or ())[entry.place]
    menu = evaluation.quantity(p.question.model, entry.name).menu
    return menu[round(value) - 1] if menu else f"{value:g}"


def is_ratio(p: Program) -> bool:
    """Whether the objective divides one thing that is decided by another."""
    return p.goal is not None and p.under is not None and bool(p.goal[:-1].any() and p.under[:-1].any())


def pyomo_program(
    p: Program,
    ratio: float | None = None,
    moves: Sequence[tuple[Any, Array]] = (),
    m: pyo.ConcreteModel | None = None,
    *,
    disjunctions: bool = False,
) -> pyo.ConcreteModel:
    """Build a program as a Pyomo model with variables ``u`` under the names of ``labels``, in units of ``scale``.

    Maxima are variables not below any of their arguments; those that something profits from are one of them, by binary
    variables or, with ``disjunctions``, by a ``pyomo.gdp.Disjunction``. ``moves``: numbers of the model ``m``,
    with what the rows gain for each unit of them. The objective is in units of ``goal_scale``. Of an objective that is
    a ratio, ``ratio`` makes the linear numerator - ratio * denominator, whose least is 0 where ``ratio`` is the least
    one; without it the objective is the quotient. Limits are
    ``limits[name, side]``, what makes atoms ``definitions[label, number]``.
    """
    names = labels(p)
    m = pyo.ConcreteModel() if m is None else m
    scale = _scale(p)
    m.scale = dict(zip(names, scale.tolist(), strict=True))
    m.u = pyo.Var(names, within=pyo.Reals)
    for name, low, high, unit, whole in zip(names, p.low, p.high, scale, p.integer, strict=True):
        m.u[name].setlb(low / unit if math.isfinite(low) else None)
        m.u[name].setub(high / unit if math.isfinite(high) else None)
        if whole:
            m.u[name].domain = pyo.Binary if (low, high) == (0.0, 1.0) else pyo.Integers
    si = np.append(scale, 1.0)
    m.limits = pyo.Constraint([tuple(k) for k in p.keys if k is not None])
    owners = _owners(p, names)
    m.definitions = pyo.Constraint(list(owners.values()))
    for i, (key, equal) in enumerate(zip(p.keys, p.equal, strict=True)):
        moved = [(by, more[i] * si) for by, more in moves if more[i].any()]
        body = _balanced_row(m, names, p.rows[i] * si, moved)
        if key is not None:
            m.limits[tuple(key)] = body <= 0.0
        else:
            m.definitions[owners[i]] = body == 0.0 if equal else body <= 0.0
    _hold_maxima(m, p, names, si, disjunctions=disjunctions)
    m.goal_scale, m.objective = _pyomo_objective(m, p, names, si, ratio)
    return m


def _scale(p: Program) -> Array:
    """SI per unit of every column: powers of ten for continuous ones whose coefficients are far from one."""
    size = np.abs(p.rows[:, :-1])
    asked = np.array([k is not None for k in p.keys], dtype=bool)
    found = np.ones(len(p.columns))
    for i, atom in enumerate(p.columns):
        if p.integer[i] or isinstance(atom, Differs):
            continue
        if isinstance(atom, Maximum):
            # it is as large as its arguments
            rows = p.rows[[j for j, k in enumerate(p.keys) if k is None and p.rows[j, i] < 0]]
            sizes, others = np.abs(rows) * np.append(found, 1.0), np.arange(rows.shape[1]) != i
            typical = float(sizes.max(initial=0.0, where=others))
        else:
            # the size at which a limit binds, else that at which what it is part of is of order one
            most = size[asked, i].max(initial=0.0) or size[~asked, i].max(initial=0.0)
            typical = 1.0 / most if most > 0 else 1.0
        if typical > 0 and not USUAL[0] <= typical <= USUAL[1]:
            found[i] = 10.0 ** round(math.log10(typical))
    return found


def _owners(p: Program, names: tuple[str, ...]) -> dict[int, tuple[str, int]]:
    """The atom that a row without a key is there for, and which of its rows it is."""
    found: dict[int, tuple[str, int]] = {}
    count: dict[str, int] = {}
    for i, key in enumerate(p.keys):
        if key is not None:
            continue
        used = [j for j in np.flatnonzero(p.rows[i, :-1]) if not isinstance(p.columns[j], str | Entry)]
        label = names[used[-1]] if used else _picked(p, int(np.flatnonzero(p.rows[i, :-1])[0]))
        count[label] = count.get(label, 0) + 1
        found[i] = label, count[label]
    return found


def _picked(p: Program, column: int) -> str:
    atom: Atom = p.columns[column]
    return atom.name if isinstance(atom, Entry) else str(atom)


def _balanced_row(
    m: pyo.ConcreteModel, names: tuple[str, ...], row: Array, moved: Sequence[tuple[Any, Array]] = ()
) -> Any:
    """A row divided by its largest coefficient; one without variables is still a row."""
    size, columns = _largest_coefficient(row), [m.u[n] for n in names]
    body = 0.0 * columns[0] + form(row / size, columns)
    return body + sum(by * form(more / size, columns) for by, more in moved)


def form(row: Array, columns: Sequence[Any]) -> Any:
    """A linear form over columns, its last number what is added."""
    return sum((float(row[j]) * columns[j] for j in np.flatnonzero(row[:-1]).tolist()), 0.0) + float(row[-1])


def _largest_coefficient(row: Array) -> float:
    return float(np.abs(row[:-1]).max(initial=0.0)) or float(abs(row[-1])) or 1.0


def _hold_maxima(
    m: pyo.ConcreteModel, p: Program, names: tuple[str, ...], si: Array, *, disjunctions: bool
) -> None:
    """Say of every exact maximum that it is one of its arguments; raises NoModel where that has no finite room."""
    for place, arguments in p.exact:
        rows = -arguments
        rows[:, place] += 1.0
        bodies = [_balanced_row(m, names, row * si) for row in rows]
        m.add_component(f"largest {names[place]}", gdp.Disjunction(expr=[[b <= 0.0] for b in bodies]))
    if not disjunctions and p.exact:
        try:
            pyo.TransformationFactory("gdp.bigm").apply_to(m)
        except gdp.GDP_Error:
            held = " and ".join(names[place] for place, _ in p.exact)
            text = f"{held} must be one of several amounts without an upper end: give what is decided a max"
            raise NoModel(text) from None


def _pyomo_objective(
    m: pyo.ConcreteModel, p: Program, names: tuple[str, ...], si: Array, ratio: float | None
) -> tuple[float, pyo.Objective]:
    columns = [m.u[n] for n in names]
    if p.goal is None or p.under is None:
        return 1.0, pyo.Objective(expr=0.0 * columns[0])
    if is_ratio(p) and ratio is None:
        return 1.0, pyo.Objective(expr=form(p.goal * si, columns) / form(p.under * si, columns))
    cost = linear_cost(p.goal, p.under, 0.0 if ratio is None else ratio) * si
    size = goal_size(cost)
    return size, pyo.Objective(expr=0.0 * columns[0] + form(cost / size, columns))


def goal_in_si(p: Program, ratio: float | None = None) -> str:
    """How the user's objective, SI, follows from that of ``pyomo_program``; empty where it does not, or is the same."""
    if p.goal is None or p.under is None or (is_ratio(p) and ratio is not None):
        return ""
    if is_ratio(p):
        return "objective in SI = 1 / that of the file" if p.sign < 0 else ""
    size = goal_size(linear_cost(p.goal, p.under) * np.append(_scale(p), 1.0))
    # minimised are what is asked or its reciprocal, and where only the denominator is decided minus its reciprocal
    below = bool(p.under[:-1].any())
    factor = "" if size == 1.0 else f"{size!r} * "
    found = f"{'-' * below}{factor}that of the file"
    if below != (p.sign < 0):
        return f"objective in SI = 1 / ({found})"
    return f"objective in SI = {found}" if below or factor else ""


def goal_size(cost: Array) -> float:
    """What a linear form is divided by as an objective: its largest coefficient."""
    return float(np.abs(cost[:-1]).max(initial=0.0)) or 1.0

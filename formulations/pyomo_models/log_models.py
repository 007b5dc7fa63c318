"""A log program as a Pyomo model: in logarithms, or in the user's own variables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pyomo.environ as pyo
from pyomo import gdp

from formulations.pyomo_models.log_data import GOAL, Linear, LogProgram, LogRow, LogVariable, Term
from formulations.pyomo_models.user_variables import Named, picked, whole

EVEN = 1e-12


def log_model(program: LogProgram) -> pyo.ConcreteModel:
    """Build a log program in log variables.

    Variables ``y``, ``limits[name, side]``, ``equations`` of auxiliary variables, ``objective``.
    """
    m = pyo.ConcreteModel()
    LogWriter(m, program).write()
    return m


class LogWriter:
    """Writes a log program into a model, which may have variables already.

    ``users``: decided variables that the model has; ``axes``: logarithms of what stays open; ``plain``: there are
    logarithms ``y`` only of what needs one (the goal, maxima, differences), the others are written out;
    ``disjunctions``: maxima that something profits from stand as ``pyomo.gdp.Disjunction``, not over binaries.
    """

    def __init__(
        self,
        m: pyo.ConcreteModel,
        program: LogProgram,
        users: Mapping[str, Named] | None = None,
        axes: Mapping[str, Any] | None = None,
        *,
        plain: bool = False,
        disjunctions: bool = False,
    ) -> None:
        self.m, self.program, self.users = m, program, users or {}
        self.at = {v.name: v for v in program.variables}
        self.disjunctions = disjunctions
        inner = {r.own: r for r in program.rows if plain and _written_out(r)}
        kept = [n for n in self.at if n not in inner and not (plain and n in self.users)]
        m.y = pyo.Var(kept, bounds=lambda _, name: (self.at[name].low, self.at[name].high))
        m.one = pyo.Var(bounds=(1.0, 1.0), initialize=1.0)
        for name in kept:
            m.y[name].set_value(self._middle(name))
        self.logs: dict[str, Any] = {n: m.y[n] for n in kept} | dict(axes or {})
        if plain:
            self.logs |= {n: u.log for n, u in self.users.items()}
        # sums of which powers are taken, each divided by a number near it
        self.sums: dict[str, Any] = {}
        m.sums = pyo.Expression([n for n, row in inner.items() if len(row.terms) > 1])
        for name, row in inner.items():
            if len(row.terms) == 1:
                alone = _term_without(row.terms[0], name)
                self.logs[name] = self._linear({**alone.exponents, "": alone.constant})
                continue
            m.sums[name] = sum(self._term(_term_without(t, name), -self._middle(name)) for t in row.terms)
            self.sums[name] = m.sums[name]
        self.inner = inner

    def _middle(self, name: str) -> float:
        return 0.5 * (self.at[name].low + self.at[name].high)

    def write(self) -> None:
        """Write limits under the user's names, equations, maxima and the objective."""
        m, program = self.m, self.program
        for v in program.variables:
            if v.name in self.users:
                self._users_own(v)
            elif v.name in self.m.y:
                self._discrete(v)
        named = [r for r in program.rows if r.name]
        m.limits = pyo.Constraint([(r.name, r.side) for r in named])
        for r in named:
            m.limits[r.name, r.side] = self._row(r)
        m.equations = pyo.ConstraintList()
        for r in program.rows:
            if not r.name and r.own not in self.inner:
                m.equations.add(self._row(r))
        self._maxima()
        m.objective = pyo.Objective(expr=m.y[program.goal] if program.goal else 0.0 * m.one)

    def value(self, *, plain: bool) -> Any:
        """What the user asked for, SI: of the goal's logarithm, or written out."""
        program = self.program
        if not program.goal:
            return 0.0 * self.m.one
        goal = self.m.y[program.goal]
        if not plain:
            return program.size * program.sign * goal if program.plain else pyo.exp(program.sign * goal)
        row = next(r for r in program.rows if r.own == GOAL)
        if program.plain:
            return program.size * program.sign * sum(self._term(t) for t in row.terms[:-1])
        found = sum(self._term(_term_without(t, GOAL)) for t in row.terms)
        return found if program.sign > 0 else 1 / found

    def _users_own(self, v: LogVariable) -> None:
        user = self.users[v.name]
        user.variable.set_value(_starting_point(v) / user.unit, skip_validation=True)
        log = self.logs[v.name]
        if v.name in self.m.y:
            self.m.add_component(f"logarithm of {v.name}", pyo.Constraint(expr=log == user.log))
        if v.values is not None:
            self._discrete(v)

    def _discrete(self, v: LogVariable) -> None:
        """Keep a quantity to its listed values or whole numbers, by variables of their own."""
        log = self.logs[v.name]
        if v.values is not None and len(v.values) > 1:
            self.m.add_component(f"whole {v.name}", pyo.Constraint(expr=log == _menu(self.m, v)))
        elif v.integer and v.high > v.low:
            ends = round(math.exp(v.low)), round(math.exp(v.high))
            number = whole(self.m, v.name, ends)
            self.m.add_component(f"whole {v.name}", pyo.Constraint(expr=log == pyo.log(number)))

    def _maxima(self) -> None:
        """Make every maximum one: no less than its sides, and where something profits from more, one of them."""
        m, kept = self.m, pulled_up(self.program)
        for name, *sides in self.program.maxima:
            own, logs = self._log(name), [self._log(side) for side in sides]
            for log in logs:
                m.equations.add(own >= log)
            if name not in kept:
                continue
            if self.disjunctions:
                m.add_component(f"largest {name}", gdp.Disjunction(expr=[[own <= log] for log in logs]))
                continue
            first = pyo.Var(within=pyo.Binary)
            m.add_component(f"first {name}", first)
            for log, side, off in zip(logs, sides, (1 - first, first), strict=True):
                slack = max(self.at[name].high - self.at[side].low, 0.0)
                m.equations.add(own <= log + slack * off)

    def _log(self, name: str) -> Any:
        if name in self.logs:
            return self.logs[name]
        return pyo.log(self.sums[name]) + self._middle(name)

    def _row(self, r: LogRow) -> Any:
        if not r.terms:
            return self.m.one >= 1.0 - r.bound
        alone = r.terms[0] if len(r.terms) == 1 else None
        if alone is not None and r.bound == 1 and alone.sign > 0 and not alone.factors:
            # one exponential <= 1 is linear in its exponent
            form = self._linear({**alone.exponents, "": alone.constant})
            return form == 0 if r.equal else form <= 0
        total = sum(self._term(t) for t in r.terms)
        return total == r.bound if r.equal else total <= r.bound

    def _term(self, t: Term, shift: float = 0.0) -> Any:
        """Write a term times exp(shift), its coefficient in the exponent so that no number leaves the order of one."""
        constant, found = t.constant + shift, t.sign
        exponents = {}
        for name, a in t.exponents.items():
            if name in self.sums:
                constant += a * self._middle(name)
                found = found * self.sums[name] ** a
            else:
                exponents[name] = a
        if exponents:
            found = found * pyo.exp(self._linear({**exponents, "": constant}))
        else:
            found = found * math.exp(constant) * self.m.one
        for form in t.factors:
            found = found * self._linear(form)
        return found

    def _linear(self, form: Linear) -> Any:
        found: Any = form.get("", 0.0) * self.m.one
        for name, a in form.items():
            if name:
                found = found + a * self._log(name)
        return found


def _written_out(r: LogRow) -> bool:
    """Whether the equation of a variable may stand in its place: of a sum that is positive whatever is decided."""
    return r.equal and bool(r.own) and r.bound == 1.0 and all(t.sign > 0 and not t.factors for t in r.terms)


def _term_without(t: Term, name: str) -> Term:
    return Term(t.sign, t.constant, {n: a for n, a in t.exponents.items() if n != name}, t.factors)


def _starting_point(v: LogVariable) -> float:
    """Return a value to start from."""
    middle = math.exp(0.5 * (v.low + v.high))
    if v.values is not None:
        return v.values[len(v.values) // 2]
    return float(round(middle)) if v.integer else middle


def _menu(m: pyo.ConcreteModel, v: LogVariable) -> Any:
    """Return the logarithm of one of the listed values.

    A ladder where they are powers of one number, else one binary each.
    """
    assert v.values is not None, "only listed values make a menu"
    logs = [math.log(value) for value in v.values]
    step = (logs[-1] - logs[0]) / (len(logs) - 1)
    if all(abs(logs[0] + i * step - y) <= EVEN * (1 + abs(y)) for i, y in enumerate(logs)):
        rung = pyo.Var(within=pyo.Integers, bounds=(0, len(logs) - 1))
        m.add_component(f"rung {v.name}", rung)
        return logs[0] + step * rung
    return picked(m, v.name, logs)


def pulled_up(p: LogProgram) -> frozenset[str]:
    """Return the variables that something profits from being larger; a maximum that is none need not be held down."""
    looked = _Looked(p)
    for row in p.rows:
        if row.own not in looked.equations:
            looked.terms(row.terms, -1)
            if row.equal:
                looked.terms(row.terms, 1)
    looked.follow()
    return frozenset(name for name, side in looked.wanted if side > 0)


class _Looked:
    """Goes from the rows to what defines their variables: ``wanted`` holds (name, 1: larger or -1: smaller)."""

    def __init__(self, p: LogProgram) -> None:
        self.equations = {r.own: r for r in p.rows if r.equal and r.own}
        self.maxima = {m: (a, b) for m, a, b in p.maxima}
        self.wanted: set[tuple[str, int]] = set()
        self.todo: list[tuple[str, int]] = []

    def want(self, name: str, side: int) -> None:
        if name and (name, side) not in self.wanted:
            self.wanted.add((name, side))
            self.todo.append((name, side))

    def terms(self, terms: tuple[Term, ...], side: int, but: str = "") -> None:
        """``side``: whether the sum of the terms is to be larger or smaller."""
        for t in terms:
            either = [*(n for f in t.factors for n in f), *(t.exponents if t.factors else ())]
            for name in either:
                if name != but:
                    self.want(name, 1)
                    self.want(name, -1)
            for name, a in t.exponents.items():
                if name != but and not t.factors:
                    self.want(name, side if a * t.sign > 0 else -side)

    def follow(self) -> None:
        """Go on until nothing new is found."""
        while self.todo:
            name, side = self.todo.pop()
            for each in self.maxima.get(name, ()):
                self.want(each, side)
            if name in self.equations:
                self.terms(self.equations[name].terms, side, but=name)

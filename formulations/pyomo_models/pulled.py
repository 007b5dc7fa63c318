"""Which log variables of a program something profits from being larger: what else may stand as a bound from below."""

from __future__ import annotations

from formulations.pyomo_models.log_data import LogProgram, Term


def pulled_up(p: LogProgram) -> frozenset[str]:
    """Return the variables that must be kept from growing: a maximum that is none of them is at least its sides."""
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

"""What is to be small of the objective of a linear program, world by world: a sum, a number over one, or their ratio.

With affine forms N and D of the columns, D > 0, the objective is N (``Losses.forms``), 1/D (``reciprocal``: the forms
are -D), or N/D (``under`` is D). A mean of 1/D over worlds is convex: its tangents in D,

    1/D(u)  >=  2/D(v) - D(u)/D(v)^2,   equal at u = v,

are cuts. Of N/D a weighted mean is one ratio where D is the same in every world; the worst is at most r where every
N - r D is at most 0 (Dinkelbach, Management Science 13, 1967; Crouzeix, Ferland and Schaible, JOTA 47, 1985).
"""

from __future__ import annotations

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations.programs.program import Program


@dataclass(frozen=True, slots=True)
class Losses:
    """Affine functions (n, C + 1) of the columns in each world, as the module says."""

    forms: Array
    reciprocal: bool = False
    under: Array | None = None


def of_program(p: Program, count: int) -> Losses | None:
    """What is to be small in each of ``count`` worlds; None where there is no objective."""
    if p.goal is None or p.under is None:
        return None
    # of what is maximised goal/under is the reciprocal
    goal, under = (np.broadcast_to(v, (count, v.shape[-1])) for v in (p.goal, p.under))
    plain, inverse = not under[:, :-1].any(), not goal[:, :-1].any()
    if plain and (p.sign > 0 or not inverse):
        return Losses(goal / under[:, -1:], reciprocal=p.sign < 0)
    if inverse:
        return Losses(-under / goal[:, -1:], reciprocal=p.sign > 0)
    return Losses(goal, under=under) if p.sign > 0 else Losses(-under, under=goal)


def tangents(forms: Array, u: Array) -> Array:
    """Cuts of the reciprocals of minus some affine functions (n, S + 1), exact at ``u``.

    Raises CannotTake where one of them has no value there.
    """
    level = forms @ u
    if not (level < 0.0).all():
        raise CannotTake("a number over a sum that is 0 at a design")
    cuts = forms / level[:, None] ** 2
    cuts[:, -1] -= 2.0 / level
    return np.asarray(cuts)

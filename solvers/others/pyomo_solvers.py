"""Any solver that Pyomo knows, run on a model: what it claims, and never more than that."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dse.names import did_you_mean, some_of
from dse.system.records import dataclass
from solvers.nonlinear import scip
from solvers.others import ipopt_wheel
from solvers.others.solver_errors import SolverError

TOLERANCE = 1e-9
LOG_GAP = 3e-7
"""Of a goal that is a logarithm; of others TOLERANCE, relative."""
OURS = {"scip": "scip_direct", "highs": "highs"}
OPTIONS = {
    "scip": {"numerics/feastol": TOLERANCE, "display/verblevel": 0},
    "highs": {
        "output_flag": False,
        "primal_feasibility_tolerance": TOLERANCE,
        "dual_feasibility_tolerance": TOLERANCE,
        "mip_feasibility_tolerance": TOLERANCE,
    },
    "ipopt": {"tol": TOLERANCE, "constr_viol_tol": TOLERANCE, "bound_relax_factor": 0.0, "sb": "yes"},
}
INSTALL = {
    "scip": "pip install pyscipopt",
    "highs": "pip install highspy",
    "ipopt": "pip install 'codesign-dse[ipopt]' (the IPOPT in casadi's wheel), or put an ipopt executable on PATH",
    "gurobi": "pip install gurobipy; it needs a licence",
    "cplex": "pip install cplex; it needs a licence",
    "xpress": "pip install xpress; it needs a licence",
    "mosek": "pip install mosek; it needs a licence",
    "cbc": "put a cbc executable on PATH (Debian: apt install coinor-cbc)",
    "glpk": "put glpsol on PATH (Debian: apt install glpk-utils)",
}
TIME_OVER = "maxTimeLimit"
"""Pyomo's word for a search that the time limit ended."""
CONTINUOUS = frozenset({"ipopt", "cyipopt", "conopt"})
LINEAR = frozenset({"highs", "appsi_highs", "cbc", "glpk"})
SOLVERS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Claim:
    """What a solver said.

    ``word``: its own word for how it ended; ``optimal``, ``infeasible``: what that claims; ``design``: whether the
    model holds values of its now.
    """

    solver: str
    word: str
    optimal: bool = False
    infeasible: bool = False
    design: bool = False

    def __str__(self) -> str:
        return f"{self.solver} through Pyomo says {self.word}"


def check(name: str) -> None:
    """Raise SolverError where Pyomo does not know a solver of this name, or it is not installed."""
    import pyomo.environ as pyo

    if name in OURS:
        from pyomo.contrib.solver.common.factory import SolverFactory

        found = SolverFactory(OURS[name])
        here = found is not None and bool(found.available())
    elif name not in set(pyo.SolverFactory) or name.startswith("_"):
        known = [n for n in pyo.SolverFactory if not n.startswith(("_", "contrib"))]
        usual = ", ".join(INSTALL)
        raise SolverError(f"Pyomo knows no solver {name!r} (usual ones: {usual}){did_you_mean(name, known)}")
    else:
        here = _available(pyo.SolverFactory(name))
        if name == "ipopt" and not here:
            here = ipopt_wheel.present()
    if not here:
        how = INSTALL.get(name, "Pyomo's documentation says what it needs")
        raise SolverError(f"the solver {name} is not installed: {how}")


def _available(solver: Any) -> bool:
    try:
        return bool(solver.available(exception_flag=False))
    except Exception:  # what a solver that is not there raises is its own matter
        return False


def run(model: Any, name: str, seconds: float) -> Claim:
    """Solve a model by a solver and load its design; raises SolverError where that cannot be.

    A model that still holds a ``pyomo.gdp.Disjunction`` is refused: most solvers leave it out without a word.
    """
    no_disjunctions(model)
    takes(model, name)
    try:
        claim = _by_new_interface(model, name, seconds) if name in OURS else _by_old(model, name, seconds)
        return replace(claim, word=f"that its {seconds:g} s are over") if claim.word == TIME_OVER else claim
    except SolverError:
        raise
    except Exception as problem:  # each solver has exceptions of its own
        text = (str(problem).strip().splitlines() or [""])[0]
        raise SolverError(
            f"{name} cannot take this model ({type(problem).__name__}: {text}){_hint(model, name)}"
        ) from problem


def continuous(model: Any, name: str) -> None:
    """Raise SolverError where a model has whole numbers, which a solver of this name does not take."""
    whole = _integer_names(model) if name in CONTINUOUS else []
    if whole:
        raise SolverError(
            f"{name} takes no whole numbers, and {some_of(whole, SOLVERS_SHOWN)} must be one: take scip"
        )


def takes(model: Any, name: str) -> None:
    """Raise SolverError where it can be told without solving that a solver does not take a model."""
    check(name)
    continuous(model, name)
    if name in LINEAR and not _is_linear(model):
        raise SolverError(f"{name} is for linear models, and this one is not linear; scip takes any of ours")


def _is_linear(model: Any) -> bool:
    import pyomo.environ as pyo

    parts = [o.expr for o in model.component_data_objects(pyo.Objective, active=True)]
    parts += [c.body for c in model.component_data_objects(pyo.Constraint, active=True)]
    return all(p.polynomial_degree() in (0, 1) for p in parts if not isinstance(p, float | int))


def _hint(model: Any, name: str) -> str:
    if not _is_linear(model):
        return f": it is not linear, and {name} may be for linear models; scip takes any of ours"
    return ""


def no_disjunctions(model: Any) -> None:
    """Raise SolverError where a model still holds a disjunction: most solvers leave it out without a word."""
    import pyomo.environ as pyo
    from pyomo import gdp

    into = (pyo.Block, gdp.Disjunct)
    held = [
        d.name
        for kind in (gdp.Disjunction, gdp.Disjunct)
        for d in model.component_data_objects(kind, active=True, descend_into=into)
    ]
    if held:
        raise SolverError(
            f"the model still holds {some_of(held, SOLVERS_SHOWN)}, which solvers ignore without a message: "
            "transform it first, pyomo.environ.TransformationFactory('gdp.bigm').apply_to(model)"
        )


def _integer_names(model: Any) -> list[str]:
    import pyomo.environ as pyo

    return [v.name for v in model.component_data_objects(pyo.Var) if not v.is_continuous() and not v.fixed]


def _by_new_interface(model: Any, name: str, seconds: float) -> Claim:
    from pyomo.contrib.solver.common.factory import SolverFactory

    logarithm = "goal" in (getattr(model, "y", None) or ())
    # the log of SCIP's own interface may stop it for ever
    solver = scip.pyomo_solver() if name == "scip" else SolverFactory(OURS[name])
    result = solver.solve(
        model,
        time_limit=seconds,
        threads=1,
        rel_gap=1e-8 if logarithm else TOLERANCE,
        abs_gap=LOG_GAP if logarithm else 0.0,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        solver_options=OPTIONS[name],
    )
    word = result.termination_condition.name
    design = result.incumbent_objective is not None and math.isfinite(result.incumbent_objective)
    if design:
        result.solution_loader.load_vars()
    optimal = word == "convergenceCriteriaSatisfied"
    return Claim(name, "optimal" if optimal else word, optimal, "nfeasible" in word, design)


def _by_old(model: Any, name: str, seconds: float) -> Claim:
    import pyomo.environ as pyo

    solver = pyo.SolverFactory(name)
    if name == "ipopt" and not _available(solver):
        with ipopt_wheel.executable() as file:
            return _claim_of_solver(model, name, pyo.SolverFactory("ipopt", executable=file), seconds)
    return _claim_of_solver(model, name, solver, seconds)


def _claim_of_solver(model: Any, name: str, solver: Any, seconds: float) -> Claim:
    if name in OPTIONS:
        solver.options.update(OPTIONS[name])
    try:
        result = solver.solve(model, load_solutions=False, timelimit=seconds)
    except (TypeError, ValueError):
        # not every interface knows a time limit by that name
        result = solver.solve(model, load_solutions=False)
    word = str(result.solver.termination_condition)
    design = len(result.solution) > 0
    if design:
        model.solutions.load_from(result)
    optimal = word in {"optimal", "globallyOptimal", "locallyOptimal"}
    return Claim(name, word, optimal, "nfeasible" in word, design and not math.isnan(_objective_value(model)))


def _objective_value(model: Any) -> float:
    import pyomo.environ as pyo

    goal = next(model.component_data_objects(pyo.Objective, active=True), None)
    found = 0.0 if goal is None else pyo.value(goal.expr, exception=False)
    return math.nan if found is None else float(found)

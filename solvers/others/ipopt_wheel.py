"""The IPOPT of casadi's wheel as the program that Pyomo calls: it reads a .nl file and writes a .sol file.

Pyomo writes the one and loads the other, so that variables its writer takes out get their values back.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

OPTIONS = {"tol", "constr_viol_tol", "bound_relax_factor", "max_iter", "max_cpu_time", "max_wall_time"}
SOLVED = {"Solve_Succeeded": 0, "Solved_To_Acceptable_Level": 100, "Infeasible_Problem_Detected": 200}
LIMIT, RETURN_FAILED = 400, 500


def present() -> bool:
    """Tell whether casadi is installed."""
    return importlib.util.find_spec("casadi") is not None


@contextmanager
def executable() -> Iterator[str]:
    """Make a program that Pyomo takes for an ipopt executable, for as long as it is needed."""
    path = os.pathsep.join(p or str(Path.cwd()) for p in sys.path)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ipopt"
        file.write_text(
            f"#!{sys.executable} -P\nimport sys\nsys.path[:] = {path.split(os.pathsep)!r}\n"
            "from solvers.others.ipopt_wheel import main\nmain(sys.argv[1:])\n",
            encoding="utf-8",
        )
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        yield str(file)


def _casadi() -> Any:
    return importlib.import_module("casadi")


def main(words: Sequence[str]) -> None:
    """Answer as ipopt does: ``-v`` prints the version, ``FILE.nl -AMPL option=value …`` solves."""
    casadi = _casadi()
    if not words or words[0].startswith("-"):
        sys.stdout.write(f"Ipopt 3.14.19 (of casadi {casadi.__version__})\n")
        return
    asked = dict(w.split("=", 1) for w in words[1:] if "=" in w)
    options = {f"ipopt.{n}": int(v) if v.isdigit() else float(v) for n, v in asked.items() if n in OPTIONS}
    file = Path(words[0])
    file = file if file.suffix == ".nl" else file.with_suffix(".nl")
    _solve_file(file, options)


def _solve_file(file: Path, options: dict[str, float | int]) -> None:
    casadi = _casadi()
    problem = casadi.NlpBuilder()
    problem.import_nl(str(file))
    functions = {"x": casadi.vertcat(*problem.x), "f": problem.f, "g": casadi.vertcat(*problem.g)}
    quiet = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes"}
    solver = casadi.nlpsol("solver", "ipopt", functions, {**quiet, **options})
    found = solver(x0=problem.x_init, lbx=problem.x_lb, ubx=problem.x_ub, lbg=problem.g_lb, ubg=problem.g_ub)
    word = str(solver.stats()["return_status"])
    code = SOLVED.get(word, LIMIT if "Exceeded" in word else RETURN_FAILED)
    x, dual = (found[n].full().ravel().tolist() for n in ("x", "lam_g"))
    lines = [f"Ipopt (casadi): {word}", "", "Options", 3, 0, 1, 0, len(dual), len(dual), len(x), len(x)]
    text = "\n".join(map(str, [*lines, *map(repr, dual), *map(repr, x), f"objno 0 {code}"]))
    file.with_suffix(".sol").write_text(text + "\n", encoding="utf-8")

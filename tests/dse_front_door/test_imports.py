"""What a question imports: only what answers it, since heavy libraries take longer to load than most answers."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("pint", "pyomo", "highspy", "scipy", "xarray", "numba", "dask", "pandas", "optuna", "matplotlib")
ROOT = Path(__file__).parents[2]


def loaded(code: str) -> set[str]:
    """The heavy libraries that a process has loaded after running some code."""
    told = f"{code}; import sys; print(*(m for m in {HEAVY} if m in sys.modules))"
    run = subprocess.run([sys.executable, "-c", told], cwd=ROOT, check=True, capture_output=True, text=True)
    return set(run.stdout.split())


# the last has multipliers that are not unique
@pytest.mark.parametrize(
    "name",
    [
        "nbody_deadline",
        "matmul_least_energy",
        "nbody_deadline_few_processors",
        "matmul_along_the_replication_limit",
    ],
)
def test_a_geometric_program_needs_no_heavy_library(name: str):
    assert loaded(f"import dse; assert dse.solve('{name}').status == 'optimal'") == set()


def test_a_linear_program_needs_its_solver_alone():
    solved = "import dse; assert dse.solve('partition_twelve_regions_divisible').status == 'optimal'"
    assert loaded(solved) == {"highspy"}


def test_a_search_loads_the_library_of_no_other_sampler():
    """The one of CMA-ES loads scipy.stats, which takes longer than a short search."""
    searched = (
        "import dse, tomllib; asked = tomllib.loads(dse.load('nbody_deadline').text); "
        "search = {'sampler': 'random', 'trials': 40}; found = dse.solve({**asked, 'search': search}); "
        "assert found.status == 'feasible'; import sys; assert 'cmaes' not in sys.modules"
    )
    assert {"optuna"} <= loaded(f"{searched}; assert 'scipy.stats' not in sys.modules")

"""The modules of the five packages as syntax trees: read once for all tests that go through them, and not imported."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
OWN = ("dse", "scenarios", "formulations", "solvers", "results")


def files() -> dict[str, Path]:
    """Return the file of each module by its path below the root."""
    found = (f for package in OWN for f in sorted((ROOT / package).rglob("*.py")))
    return {str(f.relative_to(ROOT)): f for f in found}


@cache
def trees() -> dict[str, ast.Module]:
    """Return the tree of each module by its path below the root."""
    return {path: ast.parse(file.read_bytes()) for path, file in files().items()}

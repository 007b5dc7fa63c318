"""The modules of the five packages as syntax trees: read once for all tests that go through them, and not imported."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
OWN = ("dse", "scenarios", "formulations", "solvers", "results")


@cache
def trees() -> dict[str, ast.Module]:
    """Return the tree of each module by its path below the root."""
    files = (f for package in OWN for f in sorted((ROOT / package).rglob("*.py")))
    return {str(f.relative_to(ROOT)): ast.parse(f.read_bytes()) for f in files}

"""Where a function imports a module of our own: only to put off loading what takes long.

Allowed is an import in a function whose module brings a named heavy library, or one of our own modules named here, that
the importing module does not bring itself. Any other stands at the top of its module. The files are read, not imported.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import PurePath

import pytest
from own_modules import OWN, trees

LIBRARIES = frozenset(
    {
        "cloudpickle",
        "cmaes",
        "concurrent.futures",
        "dask",
        "distributed",
        "fsspec",
        "h5netcdf",
        "highspy",
        "importlib.metadata",
        "jinja2",
        "matplotlib",
        "moocore",
        "numba",
        "numpy",
        "optuna",
        "pandas",
        "pint",
        "plotly",
        "pyarrow",
        "pydantic",
        "pyomo",
        "pyscipopt",
        "rich",
        "scipy",
        "socket",
        "xarray",
        "zarr",
    }
)
NUMPY = frozenset(
    {
        "cmaes",
        "highspy",
        "matplotlib",
        "moocore",
        "numba",
        "optuna",
        "pandas",
        "pyarrow",
        "scipy",
        "xarray",
        "zarr",
    }
)
"""Libraries that load NumPy themselves."""
SLOW_OWN = {
    "dse.models": "all commands are read for `dse --help`: no model is",
    "dse.quantities": "nor the table of units",
    "dse.papers": "nor the papers",
    "scenarios.define.expressions": "the grammar of [define]: most questions define nothing",
    "solvers.mechanisms.conflicts": "loaded where there is no design",
    "solvers.nonlinear.interval": "a question loads the methods of its own class, and this is another's",
    "solvers.linear.milp_conflicts": "loaded where a program has no design",
    "solvers.linear.program_product": "a question loads the methods of its own class, and this is another's",
    "solvers.linear.programs": "a question loads the methods of its own class, and this is another's",
    "solvers.robust.decide_now": "loaded where a question holds uncertain numbers",
    "solvers.nonlinear.scip": "a question loads the methods of its own class, and this is another's",
}
"""Our own modules that count as heavy, and why."""
Import = ast.Import | ast.ImportFrom


def statements(tree: ast.AST, inside: bool = False) -> Iterator[tuple[Import, bool]]:
    """All imports that are run, and whether each stands in a function."""
    blocks = (getattr(tree, field, ()) for field in ("body", "orelse", "finalbody", "handlers", "cases"))
    for node in (n for block in blocks for n in block):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        if isinstance(node, Import):
            yield node, inside
        yield from statements(node, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@cache
def modules() -> dict[str, tuple[tuple[Import, bool], ...]]:
    """The imports of all modules, by the modules' dotted names."""
    found = {}
    for path, tree in trees().items():
        name = ".".join(PurePath(path).with_suffix("").parts).removesuffix(".__init__")
        found[name] = tuple(statements(tree))
    return found


@cache
def put_off() -> dict[str, str]:
    """Names that a package imports when they are asked for, and the modules that this loads."""
    found = {}
    for package in OWN:
        tree = trees().get(f"{package}/__init__.py")
        for node in tree.body if tree else ():
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in {"_HOMES", "_WHERE"}:
                for name, home in ast.literal_eval(node.value).items():
                    module = home.partition(":")[0]
                    known = module if module in modules() else f"{package}.{module}"
                    found[f"{package}.{name}"] = known
    return found


def named(statement: Import) -> set[str]:
    """What an import names: modules, and names in modules."""
    if isinstance(statement, ast.Import):
        return {a.name for a in statement.names}
    return {statement.module or ""} | {f"{statement.module}.{a.name}" for a in statement.names}


def ours(names: set[str]) -> set[str]:
    """Those of our modules that importing these names runs: with all packages that they stand in."""
    found = set()
    for name in names:
        parts = put_off().get(name, name).split(".")
        found |= {".".join(parts[: i + 1]) for i in range(len(parts))}
    return found & modules().keys()


@cache
def at_the_top(module: str) -> frozenset[str]:
    """All names that a module imports when it is imported."""
    return frozenset(n for s, inside in modules()[module] if not inside for n in named(s))


@cache
def loads(module: str) -> frozenset[str]:
    """Those of our modules that a module imports itself when it is imported."""
    return frozenset(ours({module, *at_the_top(module)}))


@cache
def heavy(module: str) -> frozenset[str]:
    """What is heavy of all that importing a module loads."""
    loaded, waiting = set[str](), {module}
    while waiting:
        loaded |= waiting
        waiting = {n for m in waiting for n in loads(m)} - loaded
    names = {n for m in loaded for n in at_the_top(m)}
    libraries = (names | {n.partition(".")[0] for n in names}) & LIBRARIES
    return frozenset(libraries | (loaded & SLOW_OWN.keys()) | ({"numpy"} if libraries & NUMPY else set()))


def put_off_in(module: str) -> Iterator[tuple[Import, frozenset[str]]]:
    """The imports of our own in functions of a module, and what each brings that the module does not."""
    for statement, inside in modules()[module]:
        targets = ours(named(statement)) if inside else set()
        if targets:
            yield statement, frozenset().union(*map(heavy, targets)) - heavy(module)


@pytest.mark.parametrize("package", OWN)
def test_an_import_in_a_function_puts_off_something_heavy(package: str):
    wrong = [
        f"{module}:{statement.lineno}: {ast.unparse(statement)}"
        for module in modules()
        if module.partition(".")[0] == package
        for statement, brings in put_off_in(module)
        if not brings
    ]
    assert not wrong, "put these at the top of their modules:\n" + "\n".join(wrong)


def test_what_is_named_is_there_and_needed():
    """Else the lists of what is heavy would only grow."""
    assert modules().keys() >= SLOW_OWN.keys()
    gained = [brings for module in modules() for _, brings in put_off_in(module)]
    needless = {own for own in SLOW_OWN if not any(own in brings for brings in gained)}
    assert not needless


def test_the_rule_sees_a_needless_import():
    assert heavy("dse.names") == frozenset()
    assert "numpy" in heavy("solvers.answer")
    assert "pint" not in heavy("solvers.answer")
    assert {"xarray", "numpy"} <= heavy("results.accessor")

"""The models by name; a model's module is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module

from dse.models.dvfs_energy import CIRCUIT
from dse.models.model import Model
from dse.names import unknown
from dse.quantities import Quantity

_BUILT_IN = {
    "nbody": "dse.models.nbody:NBODY",
    "matmul": "dse.models.matmul:MATMUL",
    "strassen": "dse.models.matmul:STRASSEN",
    "lu": "dse.models.matmul:LU",
    "fft": "dse.models.fft:FFT",
    "matmul_two_level": "dse.models.two_level:MATMUL_TWO_LEVEL",
    "nbody_two_level": "dse.models.two_level:NBODY_TWO_LEVEL",
    "roofline": "dse.models.roofline:ROOFLINE",
    "sockets": "dse.models.sockets:SOCKETS",
    "partition": "dse.models.partition:PARTITION",
    "blocks": "dse.models.blocks:BLOCKS",
    "dvfs": "dse.models.dvfs:DVFS",
    "exabounds": "dse.models.exabounds:EXABOUNDS",
}
_registered: dict[str, Model] = {}


def names() -> tuple[str, ...]:
    """Return the names of all models, built-in ones first."""
    return (*_BUILT_IN, *(n for n in _registered if n not in _BUILT_IN))


def built_in(name: str) -> bool:
    """Tell whether a model of that name comes with dse."""
    return name in _BUILT_IN


def get(name: str) -> Model:
    """Return the model of that name; raises UnknownName (a KeyError) with a suggestion."""
    if name not in _registered:
        if name not in _BUILT_IN:
            raise unknown("model", name, names())
        module, _, attribute = _BUILT_IN[name].partition(":")
        _registered[name] = getattr(import_module(module), attribute)
    return _registered[name]


def register(model: Model) -> None:
    """Make a model of your own available by its name.

    Raises ValueError where another model has the name, where it declares one name twice, or where it declares
    a known machine parameter in another unit.
    """
    if model.name in names() and get(model.name) is not model:
        raise ValueError(f"there is already a model called {model.name!r}")
    _check(model)
    _registered[model.name] = model


def machine_parameters() -> dict[str, Quantity]:
    """Return every machine parameter that a machine file may state, by name (the first declaration).

    Those of the models, and the constants of a circuit from which costs at a voltage follow.
    """
    known = {q.name: q for q in CIRCUIT}
    for name in names():
        for q in get(name).machine:
            known.setdefault(q.name, q)
    return known


def _check(model: Model) -> None:
    inner = [q.name for q in (*model.inputs, *model.metrics)] + [x.name for x in model.limits]
    doubled = sorted({n for n in inner if inner.count(n) > 1})
    if doubled:
        raise ValueError(f"model {model.name!r} declares {', '.join(doubled)} more than once")
    known = machine_parameters()
    for q in model.machine:
        if q.name in known and known[q.name].unit != q.unit:
            theirs = known[q.name].unit
            raise ValueError(f"model {model.name!r} has machine.{q.name} in {q.unit!r}, others in {theirs!r}")

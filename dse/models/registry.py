"""The models by name; a model's module is imported when it is first asked for.

Our own models, those of installed packages (``dse.models.described.plugins``) and those registered by a running program
are found in the same way: an offer says where a model is, ``get`` imports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import chain

from dse.models.described import fitted, model_files, plugins
from dse.models.described.plugins import Offer, PluginError
from dse.models.model import Model
from dse.models.platforms import clock
from dse.models.platforms.dvfs_energy import CIRCUIT
from dse.models.shared import economics
from dse.names import unknown
from dse.quantities import Quantity, UnitError, kind

_BUILT_IN = {
    "nbody": "dse.models.algorithms.nbody:NBODY",
    "matmul": "dse.models.algorithms.matmul:MATMUL",
    "strassen": "dse.models.algorithms.matmul:STRASSEN",
    "lu": "dse.models.algorithms.matmul:LU",
    "fft": "dse.models.algorithms.fft:FFT",
    "matmul_two_level": "dse.models.algorithms.two_level:MATMUL_TWO_LEVEL",
    "nbody_two_level": "dse.models.algorithms.two_level:NBODY_TWO_LEVEL",
    "roofline": "dse.models.platforms.roofline:ROOFLINE",
    "sockets": "dse.models.platforms.sockets:SOCKETS",
    "partition": "dse.models.partitions.partition:PARTITION",
    "blocks": "dse.models.platforms.blocks:BLOCKS",
    "dvfs": "dse.models.platforms.dvfs:DVFS",
    "exabounds": "dse.models.exabounds:EXABOUNDS",
    "transformer_training": "dse.models.transformers.transformer_training:TRANSFORMER_TRAINING",
    "transformer_inference": "dse.models.transformers.transformer_inference:TRANSFORMER_INFERENCE",
}
_NAME = re.compile(r"\w[\w.+-]*")
"""What the name of a model looks like: it stands in scenarios, in commands and in names of files."""
_COMMON = (*CIRCUIT, *clock.MACHINE, *economics.MACHINE)
_registered: dict[str, Model] = {}


def names() -> tuple[str, ...]:
    """Return the names of all models: built-in ones first, then those of packages, then those registered."""
    return tuple(dict.fromkeys((*_BUILT_IN, *plugins.offers(), *_registered)))


def built_in(name: str) -> bool:
    """Tell whether a model of that name comes with dse."""
    return name in _BUILT_IN


def our_own(model: Model) -> bool:
    """Whether a model's equations are ours, and known to be arithmetic: it came with dse or was made from a file."""
    return built_in(model.name) or fitted.fit_of(model) is not None


def built_in_names() -> tuple[str, ...]:
    """Return the names of the models that come with dse."""
    return tuple(_BUILT_IN)


def fitted_names() -> tuple[str, ...]:
    """Return the names of the models fitted to measurements that come with dse."""
    return tuple(model_files.shipped())


def get(name: str) -> Model:
    """Return the model of that name, or of a model file: a path that ends in ".toml".

    Raises UnknownName (a KeyError) with a suggestion, PluginError where a package's model cannot be used, and
    ModelFileError where a model file cannot be.
    """
    # ours first: what packages offer takes time to find out
    known = name in _registered or name in _BUILT_IN
    if not known and (model_files.is_file(name) or (name not in names() and name in model_files.shipped())):
        return _model_of_fit(model_files.get(name))
    if name not in _registered:
        _registered[name] = _model_by_name(name)
    return _registered[name]


@lru_cache(maxsize=64)
def _model_of_fit(fit: fitted.Fitted) -> Model:
    return fitted.model(fit)


def _model_by_name(name: str) -> Model:
    if name in _BUILT_IN:
        return plugins.load(Offer(name, _BUILT_IN[name]))
    offered = plugins.offers().get(name, ())
    if not offered:
        raise unknown("model", name, (*names(), *fitted_names()))
    if len(offered) > 1:
        packages = " and ".join(map(str, offered))
        raise plugins.broken(offered[0], f"{packages} offer a model of that name")
    model = plugins.load(offered[0])
    try:
        _refuse_wrong_declarations(model, _own_parameters())
    except ValueError as problem:
        raise plugins.broken(offered[0], str(problem)) from problem
    return model


def every() -> Iterator[Model]:
    """Go through the models that can be used; ``broken`` says of which others there are."""
    for name in names():
        try:
            yield get(name)
        except PluginError:
            continue


def broken() -> tuple[str, ...]:
    """Return a message for each model of a package that cannot be used, or that nobody can ask for."""
    found = []
    for name, offered in plugins.offers().items():
        if name in _BUILT_IN:
            found += [str(plugins.broken(o, "dse has a model of that name")) for o in offered]
            continue
        try:
            get(name)
        except PluginError as problem:
            found.append(str(problem))
    return tuple(found)


def register(model: Model) -> None:
    """Make a model of your own available by its name.

    Raises TypeError for what is not a Model; ValueError where another model has the name, where its name is none, where
    it declares one name twice, a unit that does not exist, or a known machine parameter in another unit.
    """
    if not isinstance(model, Model):
        raise TypeError(f"a model is a dse.models.Model, not {type(model).__name__}")
    if model.name in names() and get(model.name) is not model:
        raise ValueError(f"there is already a model called {model.name!r}")
    _refuse_wrong_declarations(model, machine_parameters())
    _registered[model.name] = model


def machine_parameters() -> dict[str, Quantity]:
    """Return every machine parameter that a machine file may state, by name (the first declaration).

    Those of the models, the constants of a circuit from which costs at a voltage follow, how costs follow
    the clock, and what a machine costs.
    """
    return _declared(m.name for m in every())


def machine_parameter(name: str) -> Quantity | None:
    """Return the machine parameter of that name; models of packages are asked only where ours have none."""
    # model by model: the first that declares it is often loaded already, the others need not be
    ours = (get(n).machine for n in _BUILT_IN)
    declared = (q for part in chain([_COMMON], ours) for q in part if q.name == name)
    return next(declared, None) or machine_parameters().get(name)


@cache
def _own_parameters() -> Mapping[str, Quantity]:
    return _declared(_BUILT_IN)


def _declared(models: Iterable[str]) -> dict[str, Quantity]:
    known = {q.name: q for q in _COMMON}
    for name in models:
        for q in get(name).machine:
            known.setdefault(q.name, q)
    return known


def _refuse_wrong_declarations(model: Model, known: Mapping[str, Quantity]) -> None:
    if not (isinstance(model.name, str) and _NAME.fullmatch(model.name)) or model_files.is_file(model.name):
        right = "write letters, digits, - and _, such as my_model"
        raise ValueError(f"{model.name!r} is not a name of a model; {right}")
    for q in (*model.inputs, *model.machine, *model.metrics):
        try:
            kind(q.unit)
        except (UnitError, TypeError, AttributeError) as problem:  # of what is no text
            raise ValueError(f"model {model.name!r} declares {q.name} in {q.unit!r}: {problem}") from problem
    inner = [q.name for q in (*model.inputs, *model.metrics)] + [x.name for x in model.limits]
    doubled = sorted({n for n in inner if inner.count(n) > 1})
    if doubled:
        raise ValueError(f"model {model.name!r} declares {', '.join(doubled)} more than once")
    ratios = {q.name for q in model.metrics if not q.unit}
    for x in model.valid:
        if x.name not in ratios:
            raise ValueError(
                f"model {model.name!r} states its range by {x.name!r}, which is not a metric without unit"
            )
    for q in model.machine:
        if q.name in known and known[q.name].unit != q.unit:
            theirs = known[q.name].unit
            raise ValueError(f"model {model.name!r} has machine.{q.name} in {q.unit!r}, others in {theirs!r}")

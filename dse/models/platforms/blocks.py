"""Systems built of several kinds of blocks (Choi et al. 2014, sections I and V-D): how many of each.

A block is a processor of the capped roofline. Alone it would need the time T_b for the whole work, and draw
π1 plus the power D_b of its flops and bytes. Of each kind n_b blocks are on; they run at full speed
(``sharing`` "proportional": the work is shared in proportion to speed, so that all end together), or together
as fast as u_b of them ("free": u_b <= n_b; all of them draw π1 until the end). With the
fixed power P0 of all that is not a block,

    rate   R = Σ u_b/T_b                    (u_b = n_b in proportion)
    time   T = 1/R
    power  P = Σ n_b π1_b + Σ u_b D_b + P0
    energy E = P/R

The nameplate power of a block is the most that it may draw, π1 + Δπ/k with the throttle k; for a machine that
states no usable power it is that of flops and bytes at full speed together. P0 counts in ``power`` and
``energy``, but not in ``nameplate_power`` and ``block_power``, which are meant for budgets.

Work of several levels or of both precisions is that of ``roofline``, with the same inputs: ``flops_double``,
``bytes_L2``, ``bytes_L1``, ``accesses``.

Lowering Δπ of n equal blocks until they share a limit P comes to the same as free sharing under that limit:
n π1 + u D <= P.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from dse.models.arithmetic import per, some
from dse.models.model import Model, ModelLimit, Unknown
from dse.models.platforms import roofline, roofline_levels
from dse.models.shared.families import choose, entry, entry_parameters, only_expanded
from dse.models.shared.structure import Parts, Structure
from dse.models.shared.sums import Sum, held, sum_of
from dse.quantities import Quantity

SOURCE = "Choi et al. 2014"
PROPORTIONAL, FREE = "proportional", "free"
# more blocks than any system has
MOST_BLOCKS = 1e6

_OF_ROOFLINE = {q.name: q for q in roofline.INPUTS}
_FLOP, _MEMORY = roofline_levels.FLOP, roofline_levels.DATA["memory"]
# of levels below memory a machine may state costs that a question has no use for
_COSTS = (*_FLOP["single"], *_FLOP["double"], *(n for level in roofline_levels.DATA.values() for n in level))
MACHINE = tuple(q for q in roofline.MACHINE if q.name in {*_COSTS, "constant_power", "usable_power"})
WORK = ("flops", "bytes", "intensity", *roofline_levels.NAMES)
INPUTS = (
    *(_OF_ROOFLINE[name] for name in (*WORK, "precision")),
    Quantity(
        "sharing",
        "",
        "",
        "proportional: every block runs at full speed, and all end together; free: any speed up to its own",
        f"{SOURCE}, section I; free is our addition",
        default=PROPORTIONAL,
        choices=(PROPORTIONAL, FREE),
    ),
    Quantity(
        "fixed_power",
        "P0",
        "W",
        "power of all that is not a block (host, network), until the end",
        f"{SOURCE}, section V.D",
        default=0.0,
    ),
    replace(
        _OF_ROOFLINE["throttle"],
        meaning="divisor of the usable power of every kind that has no throttle of its own",
    ),
)
COUNT = Quantity(
    "count",
    "n",
    "",
    "blocks of this kind that are on",
    f"{SOURCE}, section I",
    floor=0.0,
    ceiling=MOST_BLOCKS,
)
BUSY = Quantity(
    "busy",
    "u",
    "",
    "number of blocks of this kind at full speed with the same rate as those that are on, under free sharing",
    "speeds chosen freely up to those of (3)",
    floor=0.0,
    ceiling=MOST_BLOCKS,
    optional=True,
)
OWN_THROTTLE = replace(
    _OF_ROOFLINE["throttle"],
    meaning="divisor of the usable power of this kind of block, in place of that of all",
    default=None,
    optional=True,
)
METRICS = (
    Quantity("time", "T", "s", "time until the work is done", "1/(sum of speeds), speeds by (3)"),
    Quantity("energy", "E", "J", "energy of all blocks and of the fixed power", f"{SOURCE} (1), summed"),
    Quantity("power", "P", "W", "average power, energy/time, with the fixed power", f"{SOURCE} (7), summed"),
    Quantity("performance", "R", "flop/s", "flops per second of all blocks", f"{SOURCE}, section I"),
    Quantity("efficiency", "η", "flop/J", "flops per joule", f"{SOURCE}, section I"),
    Quantity("energy_delay", "ET", "J*s", "energy times time", "product"),
    Quantity("bandwidth", "", "byte/s", "bytes per second of all blocks", f"{SOURCE}, section I"),
    Quantity("block_power", "Pb", "W", "average power of the blocks alone", f"{SOURCE} (7), summed"),
    Quantity(
        "nameplate_power",
        "Pmax",
        "W",
        "most that the blocks may draw, π1 + Δπ/k each",
        f"{SOURCE}, section V.D",
    ),
    Quantity("blocks", "Σn", "", "blocks that are on", "sum of the counts"),
    Quantity("block_types", "", "", "kinds of blocks of which there is one", "counts above 0"),
)
FAMILIES = (
    Quantity("performance", "R", "flop/s", "flops per second of the blocks of this kind", f"{SOURCE} (3)"),
    Quantity("power", "P", "W", "average power of the blocks of this kind", f"{SOURCE} (7)"),
)
ANY_BLOCK = ModelLimit(
    "any_block", "1 <= Σ n", "a system has a block", "without one the work is never done", always=True
)
SPEED = ModelLimit(
    "speed", "u <= n", "no block runs faster than at its own speed", f"{SOURCE} (3)", always=True
)


def equations(g: Any, blocks: tuple[str, ...]) -> Mapping[str, Any]:
    """Time, power and energy of the whole over the common rate R = Σ u/T; one block's speed and power by (3), (1)."""
    alone = {b: _alone_metrics(g, b) for b in blocks}
    constant = {b: entry(g, b).constant_power for b in blocks}
    counts = {b: getattr(g, f"count.{b}") for b in blocks}
    free = g.sharing == FREE
    busy = {b: getattr(g, f"busy.{b}") if free else counts[b] for b in blocks}
    rates = {b: busy[b] * per(1.0, alone[b]["time"]) for b in blocks}
    watts = {b: counts[b] * constant[b] + busy[b] * _working(alone[b]) for b in blocks}
    flops = roofline_levels.flops(g)
    data = g.bytes if hasattr(g, "bytes") else per(flops, g.intensity)
    rate, block_power, count = sum(rates.values()), sum(watts.values()), sum(counts.values())
    power = block_power + g.fixed_power
    time, energy = per(1.0, rate), per(power, rate)
    found = {
        "time": time,
        "energy": energy,
        "power": power,
        "performance": flops * rate,
        "efficiency": per(flops, energy),
        "energy_delay": energy * time,
        "bandwidth": data * rate,
        "block_power": block_power,
        "nameplate_power": sum(counts[b] * _nameplate(g, b, alone[b]) for b in blocks),
        "blocks": count,
        "block_types": sum(some(counts[b]) for b in blocks),
        "any_block": per(1.0, count),
    }
    found |= {f"performance.{b}": flops * rates[b] for b in blocks}
    found |= {f"power.{b}": watts[b] for b in blocks}
    # 1 + u - n <= 1, since n may be 0
    found |= {f"speed.{b}": 1.0 + busy[b] - counts[b] for b in blocks if free}
    return found


def _alone_metrics(g: Any, block: str) -> Mapping[str, Any]:
    """Return the metrics of one block of this kind that does the whole work by itself."""
    work = {name: getattr(g, name) for name in WORK if hasattr(g, name)}
    how = {"precision": g.precision, "level": "memory", "throttle": _throttle(g, block)}
    return roofline.equations(SimpleNamespace(machine=entry(g, block), **work, **how))


def _throttle(g: Any, block: str) -> Any:
    return choose(g, f"throttle.{block}", g.throttle)


def _working(alone: Mapping[str, Any]) -> Any:
    """Return what a block at full speed draws above its constant power."""
    return per(alone["energy_flop"] + alone["energy_data"], alone["time"])


def _nameplate(g: Any, block: str, alone: Mapping[str, Any]) -> Any:
    machine = entry(g, block)
    if hasattr(machine, "usable_power"):
        return machine.constant_power + machine.usable_power / _throttle(g, block)
    return alone["peak_power"]


def needs(choices: Mapping[str, str], blocks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the machine parameters that a precision makes necessary."""
    costs = (*_FLOP[choices.get("precision", "single")], *_MEMORY)
    return tuple(f"{b}.{name}" for b in blocks for name in costs)


def unused(choices: Mapping[str, str], blocks: tuple[str, ...]) -> frozenset[str]:
    """Return the unknowns without a role: in proportion, every block that is on runs at full speed."""
    return (
        frozenset()
        if choices.get("sharing", PROPORTIONAL) == FREE
        else frozenset(f"busy.{b}" for b in blocks)
    )


def expand(parts: Parts) -> Model:
    """Return the plain model of these kinds of blocks: count.<block>, machine.<block>.time_per_flop, ...

    Raises ValueError where there is none.
    """
    if not parts.machines:
        raise ValueError("blocks counts kinds of blocks: give at least one machine")
    return _model_of(parts.machines)


def _model_of(blocks: tuple[str, ...]) -> Model:
    return replace(
        BLOCKS,
        machine=entry_parameters(MACHINE, blocks),
        inputs=(*INPUTS, *_own_inputs(blocks)),
        metrics=_block_metrics(blocks),
        limits=(ANY_BLOCK, *(replace(SPEED, name=f"{SPEED.name}.{b}") for b in blocks)),
        equations=partial(equations, blocks=blocks),
        sums=_block_sums(blocks),
        hardware=tuple(held(b, f"count.{b}", entry=b) for b in blocks),
        needs=partial(needs, blocks=blocks),
        unknowns=_unknown_blocks(blocks),
        unused=partial(unused, blocks=blocks),
        structure=None,
        expand=None,
        further=roofline_levels.NAMES,
        extend=partial(_extended, blocks=blocks),
    )


def _extended(model: Model, stated: frozenset[str], blocks: tuple[str, ...]) -> Model:
    """Return the model of a question whose work is of several levels or precisions."""
    found = [name for name in roofline_levels.NAMES if name in stated]
    needed = roofline_levels.necessary(found)
    more = (replace(q, optional=False) for q in roofline.MACHINE if q.name in needed)
    machine = {q.name: q for q in (*model.machine, *entry_parameters(more, blocks))}
    double = roofline_levels.FLOPS_DOUBLE.name in found
    return replace(
        model,
        machine=tuple(machine.values()),
        inputs=tuple(map(roofline_levels.one_way(double, levels=False), model.inputs)),
        any_of=(("flops", "bytes", *found),),
    )


def _block_sums(blocks: tuple[str, ...]) -> tuple[Sum, ...]:
    power = {b: f"power.{b}" for b in blocks} | {"fixed power": "fixed_power"}
    return (
        sum_of("performance", "kind of block", {b: f"performance.{b}" for b in blocks}),
        sum_of("power", "kind of block", power),
        sum_of("energy", "kind of block", {part: f"{factors} time" for part, factors in power.items()}),
    )


def _own_inputs(blocks: tuple[str, ...]) -> tuple[Quantity, ...]:
    """Return what every kind has of its own: throttle, count, how many are busy."""
    return tuple(q.at(block=b) for q in (OWN_THROTTLE, COUNT, BUSY) for b in blocks)


def _unknown_blocks(blocks: tuple[str, ...]) -> tuple[Unknown, ...]:
    return tuple(Unknown(f"{q.name}.{b}", integer=q is COUNT) for q in (COUNT, BUSY) for b in blocks)


def _block_metrics(blocks: tuple[str, ...]) -> tuple[Quantity, ...]:
    return (*METRICS, *(q.at(block=b) for q in FAMILIES for b in blocks))


_PLACEHOLDER = ("<block>",)
BLOCKS = Model(
    name="blocks",
    title="Systems of several kinds of blocks",
    source="Choi et al. 2014, sections I and V-D, with (1), (3)",
    machine=MACHINE,
    inputs=(*INPUTS, *_own_inputs(_PLACEHOLDER)),
    metrics=_block_metrics(_PLACEHOLDER),
    limits=(ANY_BLOCK,),
    equations=only_expanded,
    hardware=(held("block"),),
    notes=__doc__ or "",
    one_of=(("bytes", "intensity"),),
    any_of=(("flops", "bytes"),),
    unknowns=_unknown_blocks(_PLACEHOLDER),
    structure=Structure(machines="block"),
    expand=expand,
)

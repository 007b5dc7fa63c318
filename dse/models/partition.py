"""Work shared among unlike processors (PeaPaw, Tang et al. 2017): code regions, several processors, one link.

A region has F flops and B bytes. With F_p flops and B_p bytes on processor p, all processors working at once,

    T_p = max(τf F_p, τb B_p)                                    (15), (16)
    T   = max over p of T_p                                      (14), (17)
    E   = Σ_p (εf F_p + εb B_p) + (Σ_p π1) T                     (24)

and where a processor states a usable power Δπ, (εf F_p + εb B_p)/Δπ is one more term of T_p. Every processor
draws its constant power until the last one ends. The printed (26) lacks factors I_C/I and I_G/I; this is (24).

``share.<region>.<processor>`` is the fraction of a region's flops and bytes on a processor, the last processor of
the map taking what is left; a region that is not divisible goes as a whole (share 0 or 1), and one that is
``independent`` has a ``flops_share`` and a ``bytes_share``. ``execution`` says how shares come about:

- CP: as decided or given, region by region (code partitioning);
- DP: one fraction per processor for all regions, ``share.<processor>`` (data partitioning);
- p-DP: all processors end at once, fractions in proportion to each one's speed on the whole work (19);
- CO, GO: everything on the first, on the second processor.

Beyond the paper, regions may pass data to each other. Of a transfer of D bytes, the part that is not where it is
needed crosses the link: D ½ Σ_p |share_from,p - share_to,p| (bytes shares of independent regions), and each
transfer of which anything crosses costs one latency. The link is shared, one transfer after another; its time
is one more term of T ("overlapped") or comes on top ("serial").
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import product
from operator import add
from typing import Any

from dse.models import families
from dse.models.arithmetic import maximum, per, some
from dse.models.model import Model, ModelLimit, Unknown
from dse.models.partition_guidelines import GUIDELINES, guideline_metrics, guidelines
from dse.models.partition_quantities import (
    INPUTS,
    MACHINE,
    OF_BOTH,
    OF_BYTES,
    OF_FLOPS,
    PROCESSOR,
    REGIONS,
    SOURCE,
    SYSTEM,
    TRANSFERS,
)
from dse.models.structure import Parts, Row, Structure
from dse.models.sums import held, sum_of
from dse.models.totals import totals
from dse.quantities import Quantity


@dataclass(frozen=True, slots=True)
class Work:
    """What a question lists: processors in order, regions, transfers."""

    processors: tuple[str, ...]
    regions: tuple[Row, ...]
    transfers: tuple[Row, ...]

    @property
    def decided(self) -> tuple[str, ...]:
        """Return the processors that have shares of their own; the last one takes what is left."""
        return self.processors[:-1]


SHORT = 64
"""Sums of so few terms are made from left to right."""
SUMS = (
    sum_of(
        "energy",
        "what it is spent on",
        {"flops and bytes": "energy_dynamic", "constant power": "energy_static", "link": "energy_link"},
    ),
)


def expand(parts: Parts) -> Model:
    """Return the plain model of these regions, transfers and processors.

    Raises ValueError for fewer than two processors and for no region at all.
    """
    regions = tuple(parts.rows.get("regions", ()))
    if len(parts.machines) < 2:
        raise ValueError("partition shares work among processors: give at least two machines")
    if not regions:
        raise ValueError("partition places regions of code: give at least one under regions")
    work = Work(parts.machines, regions, tuple(parts.rows.get("transfers", ())))
    apart = [q for region in regions for q in _shares(region, work)]
    one = [_of(OF_BOTH.at(processor=p)) for p in work.decided]
    return replace(
        PARTITION,
        machine=families.entry_parameters(MACHINE, work.processors),
        inputs=(
            *INPUTS,
            *families.row_inputs(REGIONS, regions),
            *families.row_inputs(TRANSFERS, work.transfers),
            *apart,
            *one,
        ),
        metrics=_metrics(work),
        limits=_limits(work),
        equations=partial(equations, work),
        sums=SUMS,
        hardware=tuple(held(p, entry=p) for p in work.processors),
        unknowns=(
            *(u for region in regions for u in _unknowns(region, work)),
            *(Unknown(q.name) for q in one),
        ),
        unused=partial(_unused, frozenset(q.name for q in apart), frozenset(q.name for q in one)),
        structure=None,
        expand=None,
    )


def _flag(region: Row, name: str) -> bool:
    return region.flags.get(name, next(c.default for c in REGIONS.columns if c.name == name))


def _kinds(region: Row) -> tuple[Quantity, ...]:
    """Return the families of shares a region has: one of both, or one of each."""
    return (OF_FLOPS, OF_BYTES) if _flag(region, "independent") else (OF_BOTH,)


def _of(q: Quantity) -> Quantity:
    """Return a share with its place in its meaning; absent where the execution says what it is."""
    labels = dict(q.index)
    what = f"of region {labels['region']}" if "region" in labels else "of every region"
    return replace(q, meaning=f"{q.meaning} {what} on {labels['processor']}", optional=True)


def _shares(region: Row, work: Work) -> tuple[Quantity, ...]:
    return tuple(
        _of(kind.at(region=region.name, processor=p)) for kind, p in product(_kinds(region), work.decided)
    )


def _unknowns(region: Row, work: Work) -> tuple[Unknown, ...]:
    whole = not _flag(region, "divisible")
    why = f"region {region.name} is not divisible" if whole else ""
    return tuple(Unknown(q.name, whole, why) for q in _shares(region, work))


def _unused(apart: frozenset[str], one: frozenset[str], choices: Mapping[str, str]) -> Container[str]:
    execution = choices.get("execution", "CP")
    return {"CP": one, "DP": apart}.get(execution, apart | one)


def _metrics(work: Work) -> tuple[Quantity, ...]:
    last = work.processors[-1]
    left = [
        replace(_of(kind.at(region=r.name, processor=last)), optional=False)
        for r in work.regions
        for kind in _kinds(r)
    ]
    each = [q.at(processor=p) for q, p in product(PROCESSOR, work.processors)]
    return (*SYSTEM, *each, *left, *guideline_metrics(work.processors))


def _limits(work: Work) -> tuple[ModelLimit, ...]:
    """Return the limits that keep the last processor's share at 0 or more; a single other share needs none."""
    if len(work.processors) == 2:
        return ()
    kinds = [(r, kind) for r in work.regions for kind in _kinds(r)]
    every = [(_whole(kind, r.name), f"region {r.name}") for r, kind in kinds]
    return tuple(
        ModelLimit(name, "sum of shares <= 1", f"shares of {what} come to one", f"{SOURCE} (7)", always=True)
        for name, what in (*every, ("whole", "every region"))
    )


def _whole(kind: Quantity, region: str) -> str:
    return f"{kind.name.removesuffix('share')}whole.{region}"


def equations(work: Work, g: Any) -> Mapping[str, Any]:
    """Times by (14)-(17), energy by (24), on any arithmetic; every number but the last few is affine in shares."""
    machines = [families.entry(g, p) for p in work.processors]
    rows = families.rows(g, "regions", [r.name for r in work.regions])
    flops, data = _sum([r.flops for r in rows]), _sum([r.bytes for r in rows])
    fractions = _fractions(g, work, machines, flops, data)
    placed = [[_placed(g, r, kind, work, fractions) for kind in (OF_FLOPS, OF_BYTES)] for r in work.regions]
    on = [
        [
            _sum([amount * of[k][p] for amount, of in zip(amounts, placed, strict=True)])
            for p in range(len(machines))
        ]
        for k, amounts in enumerate(([r.flops for r in rows], [r.bytes for r in rows]))
    ]
    times = [processor_time(m, f, b) for m, f, b in zip(machines, *on, strict=True)]
    link_bytes, link_time = _link(g, work, placed, data)
    time = _together(g, work, times, link_time)
    dynamic = _sum([dynamic_energy(m, f, b) for m, f, b in zip(machines, *on, strict=True)])
    static = _sum([m.constant_power for m in machines]) * time
    link = g.link_energy_per_byte * link_bytes
    energy = dynamic + static + link
    found = {
        **totals(time, energy, flops),
        "energy_dynamic": dynamic,
        "energy_static": static,
        "energy_link": link,
        "link_time": link_time,
        "link_bytes": link_bytes,
    }
    for p, m, t, f, b in zip(work.processors, machines, times, *on, strict=True):
        found |= {f"time.{p}": t, f"flops.{p}": f, f"bytes.{p}": b}
        found |= {f"balance.{p}": per(m.time_per_byte, m.time_per_flop)}
    return found | _left(work, placed) | _wholes(g, work, placed) | guidelines(machines)


def processor_time(machine: Any, flops: Any, data: Any) -> Any:
    """Return the time of one processor: computing, moving and (where it has a cap) spending overlap, (15)."""
    time = maximum(machine.time_per_flop * flops, machine.time_per_byte * data)
    if hasattr(machine, "usable_power"):
        time = maximum(time, per(dynamic_energy(machine, flops, data), machine.usable_power))
    return time


def dynamic_energy(machine: Any, flops: Any, data: Any) -> Any:
    """Return the energy of flops and bytes on one processor, (23)."""
    return machine.energy_per_flop * flops + machine.energy_per_byte * data


def _fractions(g: Any, work: Work, machines: Sequence[Any], flops: Any, data: Any) -> list[Any] | None:
    """Return the one fraction per processor for all regions; None where each region has its own (CP)."""
    if g.execution == "CP":
        return None
    if g.execution == "DP":
        return _with_rest([getattr(g, f"share.{p}") for p in work.decided])
    if g.execution == "p-DP":
        speeds = [per(1.0, processor_time(m, flops, data)) for m in machines]
        return [s / _sum(speeds) for s in speeds]
    chosen = ("CO", "GO").index(g.execution)
    return [1.0 if k == chosen else 0.0 for k in range(len(machines))]


def _placed(g: Any, region: Row, kind: Quantity, work: Work, fractions: list[Any] | None) -> list[Any]:
    """Return the share of a region's flops (or bytes) on every processor."""
    if fractions is not None:
        return fractions
    name = kind.name if _flag(region, "independent") else OF_BOTH.name
    return _with_rest([getattr(g, f"{name}.{region.name}.{p}") for p in work.decided])


def _with_rest(shares: list[Any]) -> list[Any]:
    return [*shares, 1.0 - _sum(shares)]


def _link(g: Any, work: Work, placed: Sequence[Sequence[Sequence[Any]]], data: Any) -> tuple[Any, Any]:
    """Return the bytes that cross the link and the time it takes."""
    # nothing crosses: zero, in the units of bytes and of time
    crossing, time = 0.0 * data, 0.0 * g.link_latency
    shares = {r.name: of[1] for r, of in zip(work.regions, placed, strict=True)}
    for transfer in work.transfers:
        apart = zip(shares[transfer.refers["from"]], shares[transfer.refers["to"]], strict=True)
        part = 0.5 * _sum([maximum(a - b, b - a) for a, b in apart])
        crossing = crossing + families.row(g, "transfers", transfer.name).bytes * part
        if not families.nothing(g.link_latency):
            time = time + g.link_latency * some(part)
    if hasattr(g, "link_bandwidth"):
        time = time + per(crossing, g.link_bandwidth)
    return crossing, time


def _together(g: Any, work: Work, times: Sequence[Any], link_time: Any) -> Any:
    """Return the time of all: the longest, the link beside the processors or after them."""
    if not work.transfers:
        return maximum(*times)
    if g.link_overlap == "serial":
        return maximum(*times) + link_time
    return maximum(*times, link_time)


def _left(work: Work, placed: Sequence[Sequence[Sequence[Any]]]) -> dict[str, Any]:
    """Return the last processor's share of every region."""
    last = work.processors[-1]
    of = {OF_BOTH.name: 0, OF_FLOPS.name: 0, OF_BYTES.name: 1}
    return {
        f"{kind.name}.{r.name}.{last}": shares[of[kind.name]][-1]
        for r, shares in zip(work.regions, placed, strict=True)
        for kind in _kinds(r)
    }


def _wholes(g: Any, work: Work, placed: Sequence[Sequence[Sequence[Any]]]) -> dict[str, Any]:
    """Return the sums of shares that must not exceed 1; none where the execution sets the shares."""
    if len(work.processors) == 2 or g.execution not in ("CP", "DP"):
        return {}
    if g.execution == "DP":
        return {"whole": _sum(placed[0][0][:-1])}
    of = {OF_BOTH.name: 0, OF_FLOPS.name: 0, OF_BYTES.name: 1}
    return {
        _whole(kind, r.name): _sum(shares[of[kind.name]][:-1])
        for r, shares in zip(work.regions, placed, strict=True)
        for kind in _kinds(r)
    }


def _sum(terms: Sequence[Any]) -> Any:
    """Sum; halves of long lists apart, so that no term is copied more often than the list can be halved."""
    if len(terms) <= SHORT:
        return reduce(add, terms)
    middle = len(terms) // 2
    return _sum(terms[:middle]) + _sum(terms[middle:])


def _template() -> Model:
    """Return the model before lists are known; its families carry placeholders for their labels."""
    work = Work(("<processor>", "<last>"), (Row("<region>"),), ())
    shown = [q for q in _metrics(work) if "<last>" not in q.name or q.name.startswith(OF_BOTH.name)]
    each = (_of(q.at(region="<region>", processor="<processor>")) for q in (OF_BOTH, OF_FLOPS, OF_BYTES))
    shares = (*each, _of(OF_BOTH.at(processor="<processor>")))
    return Model(
        name="partition",
        title="Work shared among unlike processors",
        source=f"{SOURCE} (PeaPaw), (26) and the E-Paw identifiers corrected",
        machine=MACHINE,
        inputs=(*INPUTS, *shares),
        metrics=tuple(shown),
        limits=_limits(replace(work, processors=("<first>", "<processor>", "<last>"))),
        equations=families.only_expanded,
        hardware=(held("processor"),),
        notes=f"{__doc__}\n{GUIDELINES}",
        unknowns=tuple(Unknown(q.name) for q in shares),
        structure=Structure((REGIONS, TRANSFERS), machines="processor", least=2),
        expand=expand,
    )


PARTITION = _template()

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

Beyond the paper, regions may pass data to each other. The part of a transfer of D bytes that is needed on another
processor crosses the link: D ½ Σ_p |share_from,p - share_to,p| (bytes shares of independent regions), and each
transfer between regions whose shares differ costs one latency, also one of 0 bytes: a message. The link is shared,
one transfer after another; its time is one more term of T ("overlapped") or comes on top ("serial").

``links`` gives pairs of processors links of their own; pairs without one share the link above. With three or more
processors one end of each transfer must then be a whole region. If it is on p, the part that q needs uses the link of
p and q: D max(0, share_from,p + share_to,q - 1) bytes in this direction. Links work at the same time, each with one
transfer after another.

``order = "listed"`` runs regions one after another on every processor, in the order of the list; a region starts when
all regions that it gets a transfer from have ended and their data have arrived (0 bytes: it waits for a message):

    begin_r,p = max(free_p, max over transfers q → r: end_q, arrived_q→r)     where r has a part on p
    free_p    = begin_r,p + T_r,p,   end_r = max over p of free_p,   T = max over r of end_r

T_r,p is (15) for the part of region r on p: flops and bytes overlap within a region, not among regions. A transfer
starts when its region has ended and its link has carried those before it, so ``link_overlap`` is not used; a link
takes transfers in the order of the regions that wait for them. The order is given: to compare orders, list the
regions in each of them.

``unused = "off"``: processors without any work are switched off and draw nothing. ``period``: the run repeats; its
work must end within the period, and until that ends each processor that is on draws its ``idle_power``. With both,

    E_static + E_idle = Σ over p that are on: π1_p T + idle_p (period - T)

Power and performance are then averages over the period. Where a region has a part, which processors are on, and what
waits for what are whole-number choices: these questions are mixed-integer programs, products with a choice z being
max(0, t - t_most (1 - z)) with t_most the sum of the longest that all regions and transfers can take.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

from dse.models.arithmetic import maximum, only_where, per, some
from dse.models.model import Model, ModelLimit, Unknown
from dse.models.partitions import partition_links, partition_order
from dse.models.partitions.partition_guidelines import GUIDELINES, guideline_metrics, guidelines
from dse.models.partitions.partition_quantities import (
    END,
    INPUTS,
    LINKS,
    MACHINE,
    OF_BOTH,
    OF_BYTES,
    OF_FLOPS,
    OF_LINK,
    PROCESSOR,
    REGIONS,
    SHARED_LINK,
    SOURCE,
    SYSTEM,
    TRANSFERS,
)
from dse.models.partitions.partition_work import Placed, Work, flag, kinds, placed, total, with_rest
from dse.models.shared import families, periods
from dse.models.shared.structure import Parts, Row, Structure
from dse.models.shared.sums import Sum, held, sum_of
from dse.models.shared.totals import totals
from dse.quantities import Quantity


def expand(parts: Parts) -> Model:
    """Return the plain model of these regions, transfers and processors.

    Raises ValueError for fewer than two processors and for no region at all.
    """
    regions = tuple(parts.rows.get("regions", ()))
    if len(parts.machines) < 2:
        raise ValueError("partition shares work among processors: give at least two machines")
    if not regions:
        raise ValueError("partition places regions of code: give at least one under regions")
    transfers, links = (tuple(parts.rows.get(t.name, ())) for t in (TRANSFERS, LINKS))
    # an order that is decided or swept may be one
    ordered = parts.asked.get("order", "free") != "free"
    work = Work(parts.machines, regions, transfers, links, ordered, frozenset(parts.asked))
    partition_links.check(work)
    if work.ordered:
        partition_order.check(work)
    apart = [q for region in regions for q in _shares(region, work)]
    one = [_share_with_place(OF_BOTH.at(processor=p)) for p in work.decided]
    return replace(
        PARTITION,
        machine=families.entry_parameters(MACHINE, work.processors),
        inputs=(
            *_partition_inputs(work),
            *families.row_inputs(REGIONS, regions),
            *families.row_inputs(TRANSFERS, work.transfers),
            *families.row_inputs(LINKS, work.links),
            *apart,
            *one,
        ),
        metrics=_partition_metrics(work),
        limits=_nonnegative_shares(work),
        equations=partial(equations, work),
        sums=_partition_sums(work),
        hardware=tuple(held(p, time=periods.kept_for(work.asked), entry=p) for p in work.processors),
        unknowns=(
            *(u for region in regions for u in _unknown_shares(region, work)),
            *(Unknown(q.name) for q in one),
        ),
        unused=partial(_unused, frozenset(q.name for q in apart), frozenset(q.name for q in one)),
        structure=None,
        expand=None,
    )


def _partition_inputs(work: Work) -> tuple[Quantity, ...]:
    """Return the inputs beside lists and shares; where each pair has its link there is none that they share."""
    shared = any(not x.name for x in partition_links.links(work))
    return tuple(q for q in INPUTS if shared or q.name not in SHARED_LINK)


def _partition_sums(work: Work) -> tuple[Sum, ...]:
    spent = {"flops and bytes": "energy_dynamic", "constant power": "energy_static", "link": "energy_link"}
    return (sum_of("energy", "what it is spent on", spent | periods.parts(work.asked)),)


def _share_with_place(q: Quantity) -> Quantity:
    """Return a share with its place in its meaning; absent where the execution says what it is."""
    labels = dict(q.index)
    what = f"of region {labels['region']}" if "region" in labels else "of every region"
    return replace(q, meaning=f"{q.meaning} {what} on {labels['processor']}", optional=True)


def _shares(region: Row, work: Work) -> tuple[Quantity, ...]:
    return tuple(
        _share_with_place(kind.at(region=region.name, processor=p))
        for kind, p in product(kinds(region), work.decided)
    )


def _unknown_shares(region: Row, work: Work) -> tuple[Unknown, ...]:
    whole = not flag(region, "divisible")
    why = f"region {region.name} is not divisible" if whole else ""
    return tuple(Unknown(q.name, whole, why) for q in _shares(region, work))


def _unused(apart: frozenset[str], one: frozenset[str], choices: Mapping[str, str]) -> Container[str]:
    execution = choices.get("execution", "CP")
    # with an order data move when they are made and needed
    idle = {"link_overlap"} if choices.get("order") == "listed" else frozenset()
    return {"CP": one, "DP": apart}.get(execution, apart | one) | idle


def _partition_metrics(work: Work) -> tuple[Quantity, ...]:
    last = work.processors[-1]
    left = [
        replace(_share_with_place(kind.at(region=r.name, processor=last)), optional=False)
        for r in work.regions
        for kind in kinds(r)
    ]
    each = [q.at(processor=p) for q, p in product(PROCESSOR, work.processors)]
    more = [*periods.metrics(work.asked), *(q.at(link=x.name) for q in OF_LINK for x in work.links)]
    more += [END.at(region=r.name) for r in work.regions if work.ordered]
    return (*SYSTEM, *each, *left, *more, *guideline_metrics(work.processors))


def _nonnegative_shares(work: Work) -> tuple[ModelLimit, ...]:
    """Return the limits that keep the last processor's share at 0 or more; a single other share needs none."""
    more = periods.limits(work.asked)
    if len(work.processors) == 2:
        return more
    every = [
        (_name_of_whole_region(kind, r.name), f"region {r.name}") for r in work.regions for kind in kinds(r)
    ]
    return more + tuple(
        ModelLimit(name, "sum of shares <= 1", f"shares of {what} come to one", f"{SOURCE} (7)", always=True)
        for name, what in (*every, ("whole", "every region"))
    )


def _name_of_whole_region(kind: Quantity, region: str) -> str:
    return f"{kind.name.removesuffix('share')}whole.{region}"


def equations(work: Work, g: Any) -> Mapping[str, Any]:
    """Times by (14)-(17), energy by (24), on any arithmetic; every number but the last few is affine in shares."""
    machines = [families.entry(g, p) for p in work.processors]
    rows = families.rows(g, "regions", [r.name for r in work.regions])
    flops, data = total([r.flops for r in rows]), total([r.bytes for r in rows])
    fractions = _fractions(g, work, machines, flops, data)
    at = placed(g, work, fractions)
    on = [
        [
            total([amount * shares[p] for amount, shares in zip(amounts, of, strict=True)])
            for p in range(len(machines))
        ]
        for amounts, of in (
            ([r.flops for r in rows], [x.flops for x in at]),
            ([r.bytes for r in rows], [x.bytes for x in at]),
        )
    ]
    links = partition_links.traffic(g, work, at, data, apart=fractions is None)
    link_time = links[0].time if len(links) == 1 else maximum(*(x.time for x in links))
    if families.choose(g, "order") == "listed":
        ran = partition_order.run(g, work, machines, rows, at, links, processor_time)
        times, time, ends = ran.busy, ran.time, ran.ends
    else:
        times = [processor_time(m, f, b) for m, f, b in zip(machines, *on, strict=True)]
        time = _total_time(g, work, times, link_time)
        ends = [time] * len(rows)
    dynamic = total([dynamic_energy(m, f, b) for m, f, b in zip(machines, *on, strict=True)])
    static, idle = _static(g, work, machines, rows, at, links, time)
    link = total([x.costs.energy_per_byte * x.bytes for x in links])
    energy = dynamic + static + link if idle is None else dynamic + static + link + idle
    found = {
        **totals(time, energy, flops),
        **periods.told(g, time, energy, idle, flops),
        "energy_dynamic": dynamic,
        "energy_static": static,
        "energy_link": link,
        "link_time": link_time,
        "link_bytes": total([x.bytes for x in links]),
    }
    if work.ordered:
        found |= {f"end.{r.name}": end for r, end in zip(work.regions, ends, strict=True)}
    found |= {f"link_time.{x.link.name}": x.time for x in links if x.link.name}
    found |= {f"link_bytes.{x.link.name}": x.bytes for x in links if x.link.name}
    for p, m, t, f, b in zip(work.processors, machines, times, *on, strict=True):
        found |= {f"time.{p}": t, f"flops.{p}": f, f"bytes.{p}": b}
        found |= {f"balance.{p}": per(m.time_per_byte, m.time_per_flop)}
    return found | _last_share(work, at) | _wholes(g, work, at) | guidelines(machines)


def _static(
    g: Any,
    work: Work,
    machines: Sequence[Any],
    rows: Sequence[Any],
    at: Sequence[Placed],
    links: Sequence[partition_links.Traffic],
    time: Any,
) -> tuple[Any, Any]:
    """Return the energy of constant power until the work is done, and of idling from then on (None: no period)."""
    drawn = [m.constant_power for m in machines]
    idle = [getattr(m, "idle_power", m.constant_power) for m in machines]
    period = getattr(g, "period", None)
    if families.choose(g, "unused") != "off":
        return total(drawn) * time, None if period is None else total(idle) * (period - time)
    waits = partition_order.waiting_at_most(g, work, links).values()
    most = total([*partition_order.longest(machines, rows, processor_time), *waits])
    used = [some(_share_of_processor(at, p)) for p in range(len(machines))]
    working = [only_where(u, time, most) for u in used]
    static = total([a * t for a, t in zip(drawn, working, strict=True)])
    if period is None:
        return static, None
    return static, total([a * (period * u - t) for a, u, t in zip(idle, used, working, strict=True)])


def _share_of_processor(at: Sequence[Placed], p: int) -> Any:
    """Return the shares of all regions on a processor together: 0 where it has no work."""
    return total([x.flops[p] if x.flops is x.bytes else x.flops[p] + x.bytes[p] for x in at])


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
        return with_rest([getattr(g, f"share.{p}") for p in work.decided])
    if g.execution == "p-DP":
        speeds = [per(1.0, processor_time(m, flops, data)) for m in machines]
        return [s / total(speeds) for s in speeds]
    chosen = ("CO", "GO").index(g.execution)
    return [1.0 if k == chosen else 0.0 for k in range(len(machines))]


def _total_time(g: Any, work: Work, times: Sequence[Any], link_time: Any) -> Any:
    """Return the time of all: the longest, the link beside the processors or after them."""
    if not work.transfers:
        return maximum(*times)
    if g.link_overlap == "serial":
        return maximum(*times) + link_time
    return maximum(*times, link_time)


def _last_share(work: Work, at: Sequence[Placed]) -> dict[str, Any]:
    """Return the last processor's share of every region."""
    last = work.processors[-1]
    return {
        f"{kind.name}.{r.name}.{last}": _of_kind(x, kind)[-1]
        for r, x in zip(work.regions, at, strict=True)
        for kind in kinds(r)
    }


def _of_kind(x: Placed, kind: Quantity) -> Sequence[Any]:
    return x.bytes if kind is OF_BYTES else x.flops


def _wholes(g: Any, work: Work, at: Sequence[Placed]) -> dict[str, Any]:
    """Return the sums of shares that must not exceed 1; none where the execution sets the shares."""
    if len(work.processors) == 2 or g.execution not in ("CP", "DP"):
        return {}
    if g.execution == "DP":
        return {"whole": total(at[0].flops[:-1])}
    return {
        _name_of_whole_region(kind, r.name): total(_of_kind(x, kind)[:-1])
        for r, x in zip(work.regions, at, strict=True)
        for kind in kinds(r)
    }


def _template() -> Model:
    """Return the model before lists are known; its families carry placeholders for their labels."""
    asked = frozenset(q.name for q in INPUTS)
    ends = {"from": "<first>", "to": "<processor>"}
    work = Work(("<processor>", "<last>"), (Row("<region>"),), (), (Row("<link>", refers=ends),), True, asked)
    shown = [q for q in _partition_metrics(work) if "<last>" not in q.name or q.name.startswith(OF_BOTH.name)]
    each = (
        _share_with_place(q.at(region="<region>", processor="<processor>"))
        for q in (OF_BOTH, OF_FLOPS, OF_BYTES)
    )
    shares = (*each, _share_with_place(OF_BOTH.at(processor="<processor>")))
    return Model(
        name="partition",
        title="Work shared among unlike processors",
        source=f"{SOURCE} (PeaPaw), (26) and the E-Paw identifiers corrected",
        machine=MACHINE,
        inputs=(*INPUTS, *shares),
        metrics=tuple(shown),
        limits=_nonnegative_shares(replace(work, processors=("<first>", "<processor>", "<last>"))),
        equations=families.only_expanded,
        hardware=(held("processor"),),
        notes=f"{__doc__}\n{GUIDELINES}",
        unknowns=tuple(Unknown(q.name) for q in shares),
        structure=Structure((REGIONS, TRANSFERS, LINKS), machines="processor", least=2),
        expand=expand,
    )


PARTITION = _template()

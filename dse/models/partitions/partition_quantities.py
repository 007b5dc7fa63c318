"""What the partition model takes and tells: declarations of its tables, inputs, shares and metrics."""

from __future__ import annotations

from dataclasses import replace

from dse.models.platforms import roofline
from dse.models.shared import periods
from dse.models.shared.structure import Column, Table
from dse.quantities import Quantity

SOURCE = "Tang et al. 2017"
BEYOND = "beyond the paper, which leaves the link out"
EXECUTIONS = ("CP", "DP", "p-DP", "CO", "GO")

_COSTS = {"time_per_flop", "energy_per_flop", "time_per_byte", "energy_per_byte"}
MACHINE = (
    *(
        replace(q, optional=q.name == "usable_power")
        for q in roofline.MACHINE
        if q.name in {*_COSTS, "constant_power", "usable_power"}
    ),
    periods.IDLE_POWER,
)
REGIONS = Table(
    "regions",
    "region",
    "parts of the code that are placed on processors",
    (
        Quantity("flops", "F", "flop", "flops of the region", f"{SOURCE}, Table I", floor=0.0),
        Quantity("bytes", "B", "byte", "bytes it moves to and from memory", f"{SOURCE}, Table I", floor=0.0),
    ),
    (
        Column(
            "divisible",
            "whether several processors may work on it; false: it goes as a whole (DP and p-DP divide every region)",
            True,
        ),
        Column("independent", "whether its flops and its bytes are placed apart", False),
    ),
    any_of=("flops", "bytes"),
)
TRANSFERS = Table(
    "transfers",
    "transfer",
    "data that one region passes to another",
    (Quantity("bytes", "D", "byte", "bytes passed", BEYOND, floor=0.0),),
    (
        Column("from", "the region that makes the data", refers="regions"),
        Column("to", "the region that needs it", refers="regions"),
    ),
    required=False,
)
LINKS = Table(
    "links",
    "link",
    "links of their own between two processors; pairs without one share the link of link_bandwidth",
    (
        Quantity("bandwidth", "", "byte/s", "bytes per second; absent: free", BEYOND, optional=True),
        Quantity("latency", "", "s", "time of each transfer of any length", BEYOND, floor=0.0, default=0.0),
        Quantity("energy_per_byte", "", "J/byte", "energy of a byte", BEYOND, floor=0.0, default=0.0),
    ),
    (
        Column("from", "a processor", refers="processors"),
        Column("to", "another one; the link serves both directions", refers="processors"),
    ),
    required=False,
)
SHARE = Quantity(
    "share", "x", "", "fraction of flops and bytes", f"{SOURCE} (7)", maximum=1.0, floor=0.0, ceiling=1.0
)
OF_BOTH, OF_FLOPS, OF_BYTES = (
    SHARE,
    replace(SHARE, name="flops_share", meaning="fraction of the flops"),
    replace(SHARE, name="bytes_share", meaning="fraction of the bytes"),
)
INPUTS = (
    Quantity(
        "execution",
        "",
        "",
        "how shares come about",
        f"{SOURCE}, section 2.2",
        default="CP",
        choices=EXECUTIONS,
    ),
    Quantity(
        "link_bandwidth", "", "byte/s", "bytes per second on the link; absent: free", BEYOND, optional=True
    ),
    Quantity("link_latency", "", "s", "time of each transfer of any length", BEYOND, floor=0.0, default=0.0),
    Quantity(
        "link_energy_per_byte", "", "J/byte", "energy of a byte on the link", BEYOND, floor=0.0, default=0.0
    ),
    Quantity(
        "link_overlap",
        "",
        "",
        "whether the link works while the processors do, or after them",
        BEYOND,
        default="overlapped",
        choices=("overlapped", "serial"),
    ),
    Quantity(
        "order",
        "",
        "",
        "whether all regions may run at once (free), or one after another as listed, each after those it needs",
        BEYOND,
        default="free",
        choices=("free", "listed"),
    ),
    Quantity(
        "unused",
        "",
        "",
        "whether a processor without work is on, and draws its constant power, or off, and draws none",
        BEYOND,
        default="on",
        choices=("on", "off"),
    ),
    periods.PERIOD,
)
# what says how the link is that pairs without one of their own share
SHARED_LINK = ("link_bandwidth", "link_latency", "link_energy_per_byte")
SYSTEM = (
    Quantity("time", "T", "s", "time until the last processor (and the link) has ended", f"{SOURCE} (17)"),
    Quantity("energy", "E", "J", "energy of all processors and the link", f"{SOURCE} (24)"),
    Quantity("power", "P", "W", "average power, energy/time", f"{SOURCE} (24), (17)"),
    Quantity("performance", "R", "flop/s", "flops per second", f"{SOURCE} (18)"),
    Quantity("efficiency", "EE", "flop/J", "flops per joule", f"{SOURCE} (25)"),
    Quantity("energy_delay", "ET", "J*s", "energy times time", f"product of {SOURCE} (24) and (17)"),
    Quantity("energy_dynamic", "", "J", "energy of flops and bytes on all processors", f"{SOURCE} (23)"),
    Quantity("energy_static", "", "J", "energy of the constant power of all processors", f"{SOURCE} (22)"),
    Quantity("energy_link", "", "J", "energy of the link", BEYOND),
    Quantity("link_time", "", "s", "time the link works", BEYOND),
    Quantity("link_bytes", "", "byte", "bytes that cross the link", BEYOND),
)
PROCESSOR = (
    Quantity("time", "", "s", "time this processor works", f"{SOURCE} (15), (16)"),
    Quantity("flops", "", "flop", "flops on this processor", f"{SOURCE}, Table I"),
    Quantity("bytes", "", "byte", "bytes on this processor", f"{SOURCE}, Table I"),
    Quantity("balance", "BL", "flop/byte", "machine balance of this processor, τb/τf", f"{SOURCE} (27)"),
)
OF_LINK = (
    Quantity("link_time", "", "s", "time this link works", BEYOND),
    Quantity("link_bytes", "", "byte", "bytes that cross this link", BEYOND),
)
END = Quantity("end", "", "s", "time by which a region has ended; without an order that of all", BEYOND)

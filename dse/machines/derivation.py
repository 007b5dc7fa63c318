"""Machine parameters that follow from data-sheet figures, and between which ends they lie.

Data sheets give rates and one power. A rate gives a time: time = 1/rate, exactly. How the thermal design power T
(idle power I, 0 where none is published) splits into constant power and the energies of flops and bytes is not
published. What is known are ends: each share lies between nothing and the whole. Between the ends one rule picks:

    constant power   π1 in [I, T]             (I + T)/2, the middle
    usable power     Δπ in [0, T - I]         T - π1
    energy of a flop εf in [0, (T - I) τf]    Δπ τf/2: flops and bytes at full rate share the usable power equally
    energy of a byte εm in [0, (T - I) τm]    Δπ τm/2

For the distributed machine of Demmel et al. the constant power is half the memory's (when it is full), half
leakage, and a link at full rate draws what flops do. Of a node that draws N with n processors, O = N/n - T is what
a processor's share of the host, the network and the cooling draws: half of it at full rate of the network, half
always. Messages cost no energy beyond the power that is drawn anyway, as in the paper.

What a file states itself, a measured time say, is kept, and stands in the rules in place of what figures say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from dse.machines import carbon
from dse.machines.figures import WORDS
from dse.machines.values import Value, inside
from dse.models import machine_parameter
from dse.names import did_you_mean
from dse.system.records import dataclass

Figures = Mapping[str, Value]

# figures that may be the rate of a machine's flops
RATES = tuple(f"peak_{name}" for name in WORDS)

# processes of data sheets: ACT's process that is nearest, and where it is made
_PROCESSES = {
    "TSMC 12FFN": ("14nm", "taiwan"),
    "TSMC N7": ("7nm", "taiwan"),
    "TSMC N6": ("7nm", "taiwan"),
    "TSMC N5": ("5nm", "taiwan"),
    "TSMC 4N": ("5nm", "taiwan"),
    "Samsung 8N": ("8nm", "korea"),
    "GlobalFoundries 14 nm": ("14nm", "usa"),
}


@dataclass(frozen=True, slots=True)
class _Power:
    """How a processor's power splits: idle, design, overhead of the node, constant and usable power (W).

    ``whole``, ``least`` and ``varying`` say in figures' names what ``design``, ``idle`` and ``most`` are.
    """

    idle: float
    design: float
    overhead: float
    whole: str
    least: str
    constant: float
    usable: float

    @property
    def varying(self) -> str:
        return f"({self.whole} - {self.least})" if self.idle else self.whole

    @property
    def most(self) -> float:
        """Most power that is not drawn when idle."""
        return self.design - self.idle


def rate(figures: Figures) -> str:
    """Return which rate a machine's flops have unless its file says otherwise; "" where none is known."""
    wanted = ("peak_fp32", "peak_bf16", "peak_fp16", "peak_fp64")
    return next((name for name in wanted if name in figures), "")


@dataclass(slots=True)
class _Made:
    """Parameters that follow, beside those that are ``stated`` (SI), which are kept."""

    stated: Mapping[str, float]
    found: dict[str, Value] = field(default_factory=dict)

    def add(
        self,
        name: str,
        value: float,
        source: str,
        interval: tuple[float, float] | None = None,
        doubt: str = "",
    ) -> float:
        """Take a value unless one is stated, and return the one that holds."""
        if name in self.stated:
            return self.stated[name]
        q = machine_parameter(name)
        if q is None:
            raise KeyError(name)
        self.found[name] = Value(inside(q, value), q.unit, "derived", source, doubt, interval)
        return value

    def value(self, name: str) -> float | None:
        """Return the value that holds, stated or made; None where there is none."""
        return float(self.found[name].value) if name in self.found else self.stated.get(name)


def parameters(
    figures: Figures, flop: str = "", stated: Mapping[str, float] | None = None
) -> dict[str, Value]:
    """Return the machine parameters that follow from figures, in the order of the models.

    ``flop``: the figure whose flops are meant by ``time_per_flop`` (``rate`` says which by default). ``stated``:
    parameters (SI) that are known: they are left out, and others follow from them. What lacks a figure is left out;
    without any power only times follow. Raises ValueError where ``flop`` is not a figure here, where the design power
    is 0, and where the idle power is above it.
    """
    made = _Made(stated or {})
    if flop and flop not in RATES:
        raise ValueError(f"rate = {flop!r} is not a peak rate of flops{did_you_mean(flop, RATES)}")
    if flop and flop not in figures:
        raise ValueError(f"rate = {flop!r}: the figures have no {flop}")
    flop = flop or rate(figures)
    power = _power_shares(figures, made.stated)
    _derive_roofline(made, figures, flop, power)
    if flop:
        _distributed(made, figures, WORDS[flop.removeprefix("peak_")], power)
    return made.found


def embodied_carbon(figures: Figures) -> Value | None:
    """Return the carbon of making a processor by ACT (see ``dse.machines.carbon``); None without dies.

    The value is the middle. The ends: 99 and 95 % of the gases abated, memory as of LPDDR4 and of DDR4 (where it is
    DDR4, of that alone).
    """
    if "die_area" not in figures or "process" not in figures:
        return None
    of_modules = "memory_type" in figures and figures["memory_type"].value == "DDR4"
    ends = []
    for abated, memory in ((99, "lpddr4"), (95, "ddr4_10nm")):
        dies = 0.0
        for area, process in (("die_area", "process"), ("io_die_area", "io_process")):
            if area in figures and process in figures:
                node, place = _act(str(figures[process].value))
                made = carbon.process(node, abated)
                dies += carbon.of_die(_figure_value(figures, area), made, carbon.intensity(place))
        size = _figure_value(figures, "memory_size") if "memory_size" in figures else 0.0
        ends.append(carbon.of_package(dies, size, "ddr4_10nm" if of_modules else memory))
    held = " + memory" if "memory_size" in figures else ""
    source = f"ACT: (CI EPA + GPA + MPA)/0.875 x die_area{held} + 150 g; 99 to 95 % of the gases abated"
    doubt = (
        "ACT has no figure for HBM and GDDR: between LPDDR4 and DDR4 is assumed"
        if held and not of_modules
        else ""
    )
    return Value((ends[0] + ends[1]) / 2, "kg", "derived", source, doubt, (ends[0], ends[1]))


def owned(figures: Figures) -> dict[str, Value]:
    """Return what a processor costs, as machine parameters: its price, and its embodied carbon as the figures have it.

    Of figures without the carbon it is derived, where ACT has the process.
    """
    found = {}
    if "price" in figures:
        found["purchase_price"] = replace(figures["price"], source=_of_year(figures))
    made = figures.get("embodied_carbon")
    if made is None and {str(v.value) for n, v in figures.items() if n.endswith("process")} <= set(
        _PROCESSES
    ):
        made = embodied_carbon(figures)
    return found if made is None else found | {"embodied_carbon": made}


def _of_year(figures: Figures) -> str:
    """Return the source of a price with its year, where the source does not say it."""
    source = figures["price"].source
    year = f"{figures['price_year'].value:g}" if "price_year" in figures else ""
    return source if year in source else f"{source}, {year}"


def _act(process: str) -> tuple[str, str]:
    """Return ACT's process that is nearest, and where it is made."""
    if process not in _PROCESSES:
        raise ValueError(f"ACT has no process {process!r}; known are {', '.join(_PROCESSES)}")
    return _PROCESSES[process]


def _figure_value(figures: Figures, name: str) -> float:
    return float(figures[name].value)


def _power_shares(figures: Figures, stated: Mapping[str, float]) -> _Power | None:
    idle = _figure_value(figures, "idle_power") if "idle_power" in figures else 0.0
    least = "idle_power" if idle else "0"
    share, of_node = 0.0, "node_power/processors_per_node"
    if "node_power" in figures and "processors_per_node" in figures:
        share = _figure_value(figures, "node_power") / _figure_value(figures, "processors_per_node")
    if "thermal_design_power" in figures:
        design, whole = _figure_value(figures, "thermal_design_power"), "thermal_design_power"
    elif share:
        design, whole = share, of_node
    else:
        return None
    if not design:
        raise ValueError(f"{whole} = 0 W: nothing runs without power; write its power, or leave it out")
    if idle > design:
        raise ValueError(f"idle_power = {idle:g} W is above {whole} = {design:g} W")
    constant = min(stated.get("constant_power", (idle + design) / 2), design)
    usable = stated.get("usable_power", design - constant)
    return _Power(idle, design, max(share - design, 0.0), whole, least, constant, usable)


def _derive_roofline(made: _Made, figures: Figures, flop: str, power: _Power | None) -> None:
    kinds = {
        "time_per_flop": flop,
        "time_per_byte": "memory_bandwidth",
        "time_per_byte_L2": "cache_bandwidth",
        "time_per_flop_double": "peak_fp64",
    }
    for name, figure in kinds.items():
        if figure not in figures:
            continue
        doubt = ""
        if name == "time_per_flop" and WORDS[flop.removeprefix("peak_")] != WORDS["fp32"]:
            where = "vector" if figure == "peak_fp64" else "matrix"
            kind = figure.removeprefix("peak_").partition("_")[0]
            doubt = f"{kind} on {where} units, not single precision"
        time = made.add(name, 1.0 / _figure_value(figures, figure), f"1/{figure}", doubt=doubt)
        if power is not None:
            of = f" x {name}" if name in made.stated else f"/{figure}"
            source = f"usable_power/2{of}; at most {power.varying}{of}"
            to = name.replace("time", "energy")
            made.add(to, power.usable * time / 2, source, (0.0, power.most * time), doubt)
    if power is not None:
        source = f"the middle of {power.least} and {power.whole}"
        made.add("constant_power", power.constant, source, (power.idle, power.design))
        source = f"{power.whole} - constant_power"
        made.add("usable_power", power.usable, source, (0.0, power.most))


@dataclass(frozen=True, slots=True)
class _Link:
    """A link of a processor: figures of its rate (byte/s) and its time per message (s)."""

    rate: str
    latency: str


_NODE = _Link("node_bandwidth", "node_latency")
_NETWORK = _Link("network_bandwidth", "network_latency")


def _distributed(made: _Made, figures: Figures, size: float, power: _Power | None) -> None:
    """Add the parameters of the distributed machine, over the network where its figures are known."""
    size = made.add("word_size", size, "bytes of a number of the flops' type")
    if "memory_size" in figures:
        words = _figure_value(figures, "memory_size") / size
        made.add("memory_capacity", words, f"memory_size/({size:g} byte)")
        if power is not None:
            most = (power.design + power.overhead) / words
            source = "constant_power/2 over memory_capacity; at most all power"
            made.add("memory_power_per_word", power.constant / 2 / words, source, (0.0, most))
    if "processors_per_node" in figures:
        made.add("processors_per_node", _figure_value(figures, "processors_per_node"), "processors_per_node")
    if power is not None and power.overhead:
        source = "node_power/processors_per_node - thermal_design_power"
        made.add("overhead_power", power.overhead, source, (0.0, power.overhead))
    links = [link for link in (_NETWORK, _NODE) if link.rate in figures and link.latency in figures]
    if power is None or not links:
        return
    most = power.design + power.overhead
    source = "constant_power/2" + (" + half of the node's overhead" if power.overhead else "")
    leaking = power.constant / 2 + power.overhead / 2
    made.add("leakage_power", leaking, f"{source}; at most all power", (0.0, most))
    _derive_link(made, "", figures, links[0], size, power)
    if len(links) == 2 and "processors_per_node" in figures and "memory_size" in figures:
        count = _figure_value(figures, "processors_per_node")
        _derive_link(made, "node_", figures, _NETWORK, size, power, count)
        _derive_link(made, "core_", figures, _NODE, size, power)
        held, words = made.value("memory_power_per_word") or 0.0, made.value("memory_capacity") or 0.0
        ends = made.found["memory_power_per_word"].interval if "memory_power_per_word" in made.found else None
        for level, many, what in (("node_", count, "all memories of a node"), ("core_", 1.0, "one memory")):
            source = f"memory_power_per_word: {what}"
            made.add(f"{level}memory_power_per_word", held, source, ends)
            doubt = "the memory of a node is that of its processors: both levels together have no more"
            made.add(f"{level}memory_capacity", many * words, f"{what}, in words", doubt=doubt)


def _derive_link(
    made: _Made,
    level: str,
    figures: Figures,
    link: _Link,
    size: float,
    power: _Power,
    many: float = 1.0,
) -> None:
    """Add what a link costs: a word, a message, and the largest message; ``many`` processors share a node's."""
    time = size / _figure_value(figures, link.rate)
    shared = f"/{many:g} processors that send together" if many > 1.0 else ""
    made.add(f"{level}time_per_word", time / many, f"({size:g} byte)/{link.rate}{shared}")
    if link is _NETWORK and power.overhead:
        draws, most = power.overhead / 2, power.overhead + power.most
        source = f"half of the node's overhead x ({size:g} byte)/{link.rate}; at most all power"
    else:
        draws, most = power.usable / 2, power.most
        source = f"usable_power/2 x ({size:g} byte)/{link.rate}; at most all power"
    made.add(f"{level}energy_per_word", draws * time, source, (0.0, most * time))
    latency = figures[link.latency]
    made.add(f"{level}time_per_message", _figure_value(figures, link.latency), link.latency, latency.interval)
    longest = latency.interval[1] if latency.interval else _figure_value(figures, link.latency)
    source = "no more than the power that is drawn anyway, as in Demmel et al. 2013"
    made.add(f"{level}energy_per_message", 0.0, source, (0.0, (power.most + power.overhead) * longest))
    if link is _NETWORK and "largest_message" in figures:
        largest = _figure_value(figures, "largest_message") / size
        made.add(f"{level}max_message", largest, f"largest_message/({size:g} byte)")
    elif (words := made.value("memory_capacity")) is not None:
        doubt = "no limit is published: the whole memory, so that messages cost next to nothing"
        made.add(f"{level}max_message", words, "memory_capacity", doubt=doubt)

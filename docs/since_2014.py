"""Write the page "What has changed since 2014" and its picture from the catalogue: ``python docs/since_2014.py``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse import machines
from dse.machines import Machine
from dse.models.shared.grids import GRIDS

HERE = Path(__file__).parent
PICTURE = "since-2014.svg"
MATRIX = ("peak_bf16", "peak_fp16")
# Choi's platforms whose names do not say that they are processors of a host
HOSTS = {"nehalem-choi2014", "pandaboard-choi2014"}
TABLE = (
    "nehalem-choi2014",
    "xeon-phi-choi2014",
    "gtx-titan-choi2014",
    "v100-sxm",
    "a100-sxm-80gb",
    "mi250x",
    "h100-sxm",
    "l4",
    "mi300x",
    "gb200",
    "tpu-v4",
    "epyc-7742",
    "epyc-9755",
    "xeon-6980p",
    "grace",
)


@dataclass(frozen=True)
class Device:
    """A processor of the catalogue: rates (flop/s, byte/s, None where unknown), powers (W), what kind it is.

    ``price`` (USD) and ``carbon`` of making it (kg): None where the catalogue has none.
    """

    name: str
    year: int
    host: bool
    measured: bool
    single: float | None
    matrix: float | None
    bandwidth: float
    design: float
    constant: tuple[float, float]
    price: float | None = None
    carbon: float | None = None


def devices() -> Iterator[Device]:
    """Go through the processors with a year and a power: no nodes, no second file of the same device."""
    for machine in machines.every():
        choi = machine.name.endswith("-choi2014")
        if machine.year is None or not (choi or "thermal_design_power" in machine.figures):
            continue
        if machine.source.startswith("figures of") or "node_power" in machine.figures:
            continue
        yield _measured(machine) if choi else _printed(machine)


def _measured(machine: Machine) -> Device:
    p = machine.parameters
    return Device(
        machine.name,
        machine.year or 0,
        "cpu" in machine.name or machine.name in HOSTS,
        measured=True,
        single=1 / p["time_per_flop"],
        matrix=None,
        bandwidth=1 / p["time_per_byte"],
        design=p["constant_power"] + p["usable_power"],
        constant=(p["constant_power"],) * 2,
    )


def _printed(machine: Machine) -> Device:
    f: dict[str, Any] = {k: v.value for k, v in machine.figures.items()}
    return Device(
        machine.name,
        machine.year or 0,
        "cores" in f,
        measured=False,
        single=f.get("peak_fp32"),
        matrix=next((f[k] for k in MATRIX if k in f), None),
        bandwidth=f["memory_bandwidth"],
        design=f["thermal_design_power"],
        constant=machine.intervals["constant_power"],
        price=machine.parameters.get("purchase_price"),
        carbon=machine.parameters.get("embodied_carbon"),
    )


def draw(found: list[Device], path: Path) -> None:
    """Draw flops and bytes per joule, power, and balance over the years."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "dse", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(10, 7.4), layout="constrained")
        (flops, bytes_), (power, balance) = figure.subplots(2, 2)
        for d in found:
            _points(flops, d, 1e-9 / d.design)
            _point(bytes_, d, d.bandwidth / d.design / 1e9, hollow=False)
            _power(power, d)
            _points(balance, d, 1 / d.bandwidth)
        _title(flops, "Flops per joule of design power", "Gflop/J")
        _title(bytes_, "Bytes of memory per joule of design power", "GB/J")
        _title(power, "Constant power; bars: anywhere up to the design power", "W")
        _title(balance, "Balance: flops per byte of memory", "flop/byte")
        figure.legend(handles=_legend(), loc="outside lower center", ncols=3, frameon=False)
        figure.savefig(path, metadata={"Date": None})


COLOURS = {True: "#b35900", False: "#1f5fa8"}


def _shift(d: Device) -> float:
    """Processors a little to the left of accelerators of the same year."""
    return d.year + (-0.15 if d.host else 0.15)


def _point(panel: Any, d: Device, value: float, *, hollow: bool) -> None:
    fill = "none" if hollow else COLOURS[d.host]
    mark = "s" if d.measured else "o"
    panel.plot(_shift(d), value, mark, ms=5.5, mfc=fill, mec=COLOURS[d.host], mew=1.1, alpha=0.85)


def _points(panel: Any, d: Device, factor: float) -> None:
    if d.single is not None:
        _point(panel, d, d.single * factor, hollow=False)
    if d.matrix is not None:
        _point(panel, d, d.matrix * factor, hollow=True)


def _power(panel: Any, d: Device) -> None:
    if d.measured:
        _point(panel, d, d.constant[0], hollow=False)
        return
    # the ends are nothing, or the idle power, and the design power
    low, high = max(d.constant[0], 1.0), d.constant[1]
    panel.plot([_shift(d)] * 2, [low, high], "-", color=COLOURS[d.host], lw=1.2, alpha=0.35)
    panel.plot(_shift(d), high, "_", color=COLOURS[d.host], ms=7, mew=1.6)


def _title(panel: Any, title: str, unit: str) -> None:
    from matplotlib.ticker import FuncFormatter

    panel.set_yscale("log")
    panel.set_title(title, fontsize=10)
    panel.set_ylabel(unit)
    panel.set_xlabel("year")
    panel.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    panel.grid(visible=True, which="major", color="#dddddd", lw=0.6)


def _legend() -> list[Any]:
    from matplotlib.lines import Line2D

    def entry(mark: str, colour: str, text: str, fill: str | None = None) -> Line2D:
        return Line2D([], [], ls="", marker=mark, ms=6, mec=colour, mfc=fill or colour, label=text)

    return [
        entry("s", "#555555", "measured (Choi et al. 2014)"),
        entry("o", "#555555", "data sheet, single precision"),
        entry("o", "#555555", "data sheet, bfloat16 or fp16 on matrix units", "none"),
        entry("o", COLOURS[False], "accelerator"),
        entry("o", COLOURS[True], "processor"),
    ]


def page(found: list[Device]) -> str:
    """Return the page, every number of it from the catalogue."""
    by_name = {d.name: d for d in found}
    rows = "\n".join(_row(by_name[n]) for n in TABLE)
    old, new = by_name["gtx-titan-choi2014"], by_name["gb200"]
    years = new.year - old.year
    flops, data = _ratio(new, old, "single"), _ratio(new, old, "bandwidth")
    matrix = (new.matrix or 0) / new.design / ((old.single or 1) / old.design)
    hosts = (by_name["nehalem-choi2014"], by_name["epyc-9755"])
    measured = [d for d in found if d.measured]
    shares = sorted(d.constant[0] / d.design for d in measured)
    owned = sorted((d for d in found if d.price or d.carbon), key=lambda d: (not d.host, d.year, d.name))
    priced = [d for d in owned if d.price]
    first, last = by_name["epyc-7742"], by_name["epyc-9755"]
    dies = by_name["v100-sxm"], by_name["h200-sxm"]
    hours = sorted(_hours(d) for d in owned if d.carbon)
    return TEXT.format(
        picture=PICTURE,
        owned="\n".join(map(_owned, owned)),
        priced=len(priced),
        bought=f"{_per(first, 'price'):.2g}",
        bought_now=f"{_per(last, 'price'):.2g}",
        bought_first=first.year,
        bought_last=last.year,
        made=f"{dies[0].carbon:.0f}",
        made_now=f"{dies[1].carbon:.0f}",
        made_per=f"{_per(dies[1], 'carbon') / _per(dies[0], 'carbon'):.1f}",
        hours=f"{hours[0]:.0f}",
        hours_most=f"{hours[-1]:.0f}",
        rows=rows,
        count=len(found),
        years=years,
        flops=f"{flops:.1f}",
        matrix=f"{matrix:.0f}",
        data=f"{data:.1f}",
        flops_year=f"{100 * (flops ** (1 / years) - 1):.0f}",
        data_year=f"{100 * (data ** (1 / years) - 1):.0f}",
        host_years=hosts[1].year - hosts[0].year,
        host_flops=f"{_ratio(hosts[1], hosts[0], 'single'):.0f}",
        host_data=f"{_ratio(hosts[1], hosts[0], 'bandwidth'):.0f}",
        balance_old=f"{(old.single or 0) / old.bandwidth:.0f}",
        balance_new=f"{(new.single or 0) / new.bandwidth:.0f}",
        balance_matrix=f"{(new.matrix or 0) / new.bandwidth:.0f}",
        least=f"{100 * shares[0]:.0f}",
        most=f"{100 * shares[-1]:.0f}",
        watts_old=f"{old.design:.0f}",
        watts_new=f"{new.design:.0f}",
    )


def _ratio(new: Device, old: Device, name: str) -> float:
    """How much more of a rate the newer one has per watt of design power."""
    return float((getattr(new, name) / new.design) / (getattr(old, name) / old.design))


def _per(d: Device, name: str) -> float:
    """How many Gflop/s in single precision it has per dollar, or per kilogram."""
    return (d.single or 0.0) / 1e9 / getattr(d, name)


def _hours(d: Device) -> float:
    """After how many hours at its design power the world's electricity has emitted what making it did."""
    return (d.carbon or 0.0) / (d.design * GRIDS["world"] * 3600)


def _owned(d: Device) -> str:
    cells = (
        f"`{d.name}`",
        str(d.year),
        f"{d.price:.0f}" if d.price else "–",
        f"{_per(d, 'price'):.2g}" if d.price and d.single else "–",
        f"{d.carbon:.3g}" if d.carbon else "–",
        f"{_per(d, 'carbon'):.0f}" if d.carbon and d.single else "–",
        f"{_hours(d):.0f}" if d.carbon else "–",
    )
    return "| " + " | ".join(cells) + " |"


def _row(d: Device) -> str:
    def per(value: float | None, by: float) -> str:
        if value is None:
            return "–"
        return f"{value / by:.0f}" if value / by >= 100 else f"{value / by:.3g}"

    low, high = d.constant
    constant = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.4g}"
    cells = (
        f"`{d.name}`",
        str(d.year),
        per(d.single, d.design * 1e9),
        per(d.matrix, d.design * 1e9),
        per(d.bandwidth, d.design * 1e9),
        f"{d.design:.4g}",
        constant,
        per(d.single, d.bandwidth),
        per(d.matrix, d.bandwidth),
    )
    return "| " + " | ".join(cells) + " |"


TEXT = """# What has changed since 2014

<!-- made by `python docs/since_2014.py`: changes here are lost -->

Choi et al. measured twelve platforms of 2009 to 2013. The catalogue has their values, and data-sheet figures of the processors and
accelerators of 2018 to 2025 (`dse machines`). This page compares {count} of them side by side.

![Flops per joule, bytes per joule, constant power and balance over the years]({picture})

A joule here is a joule of *design power*: the peak rate over the most power that the device draws for long (π1 + Δπ where it was
measured, the thermal design power otherwise). It needs no assumption about how the power splits.

- **Flops per joule** in single precision rose by a factor of {flops} from the GTX Titan to a GB200 in {years} years: {flops_year} % a
  year. Matrix units in bfloat16 give {matrix} times the flops per joule of the Titan's single precision.
- **Bytes per joule** rose by a factor of {data}: {data_year} % a year.
- Server processors (Nehalem to EPYC 9755, {host_years} years) gained a factor of {host_flops} in flops and {host_data} in bytes per joule.
- **Balance**: the Titan needs {balance_old} flops per byte to be bound by its flops, the GB200 {balance_new} in single precision and
  {balance_matrix} in bfloat16.
- **Power**: {watts_old} W then, {watts_new} W now. The constant part of it is not published. Choi's fits found {least} to {most} % of
  the most power to be constant. For the machines since 2018 the catalogue gives the interval only: from the idle power (0 where
  none is published) to the design power.

| machine | year | Gflop/J, single | Gflop/J, matrix | GB/J | design power, W | constant power, W | flop/byte, single | flop/byte, matrix |
|---|---|---|---|---|---|---|---|---|
{rows}

Rates of the platforms of 2009 to 2013 are sustained, those since 2018 are peaks of data sheets: a measured rate is lower, and a peak
need not be reached within the design power.
Memory modules are not part of a server processor's design power, but HBM and GDDR are part of an accelerator's.

## Price and carbon

Vendors print launch prices of server processors, {priced} of them in the catalogue, and none of accelerators. The carbon of making a
processor follows from the areas of its dies by ACT's method, where they are published.

- **Flops per dollar**: {bought} Gflop/s of single precision per dollar in {bought_first} (EPYC 7742), {bought_now} in {bought_last} (EPYC 9755),
  prices as printed.
- **Carbon of making**: {made} kg for a V100, {made_now} kg for an H200, with {made_per} times the single-precision flops per kilogram. Finer
  processes take more energy and gas per area, and packages hold more memory.
- At design power the electricity of the world's mix emits as much in {hours} to {hours_most} hours. Over years of use electricity weighs
  more than making, except where it is clean: [cost and carbon](cost_and_carbon.md).

| machine | year | price, USD | Gflop/s per USD | carbon of making, kg | Gflop/s per kg | hours until electricity weighs as much |
|---|---|---|---|---|---|---|
{owned}

## The papers' questions on these machines

| question | then | now |
|---|---|---|
| Least energy of an n-body step within a deadline | `nbody_deadline` | `nbody_h100_cluster_deadline`, `nbody_epyc_cluster_deadline` |
| 2.5D matrix multiplication within a deadline | `matmul_deadline` | `matmul_h100_cluster_deadline`, `matmul_epyc_cluster_deadline` |
| Many small blocks or few large ones under one power | `blocks_titan_or_arndale_sweep` | `blocks_l4_or_h100_power_sweep` |
| Which platform does most flops per joule | `roofline_platform_efficiency_sweep` | `roofline_today_efficiency_sweep` |
| The best split between CPU and GPU | `partition_twelve_regions_divisible` | `partition_grace_h100_divisible`, `partition_grace_h100_whole` |
| The cheapest station within 10 kW | `station_least_cost_in_10_kw` | `blocks_station_cheapest_in_10_kw`, `blocks_station_greenest_in_10_kw` |

Each is a ready scenario: `dse solve NAME`, or `dse sweep NAME -o study.zarr` where the name ends in `sweep`.

[Machine files](machine_files.md) says where the numbers come from and how energies are derived.
"""  # noqa: E501


def main() -> None:
    """Write the page and its picture."""
    found = list(devices())
    draw(found, HERE / PICTURE)
    (HERE / "since-2014.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()

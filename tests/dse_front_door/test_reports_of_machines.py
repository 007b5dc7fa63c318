"""Pages of questions on several machines, and on machines with settings: what they say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dse

CLOCKS: dict[str, Any] = {
    "title": "Clocks",
    "model": "dvfs",
    "machine": {"base": "jetson-tk1-choi2016", "flops_per_cycle": 300},
    "given": {
        "phases": [
            {"name": "flops", "flops": 3e11, "bytes": 1e10},
            {"name": "bytes", "flops": 1e10, "bytes": 3e10},
        ]
    },
    "objective": {"minimize": "energy"},
}


def test_kernels_on_several_machines_have_a_page(tmp_path: Path):
    """Each kernel has its own work, and there is no roofline of both: an unexpected TypeError was the answer."""
    store = tmp_path / "kernels.zarr"
    asked = {
        "overlap": True,
        "kernels": [
            {"name": "near", "workload": "fmm-near", "size": 262144},
            {"name": "far", "workload": "fmm-far", "size": 6.7e8},
        ],
        "objective": {"minimize": "energy"},
        "sweep": {"platform": {"path": "machine", "values": ["nehalem-choi2014", "gtx580-choi2014"]}},
    }
    dse.sweep(dse.load(asked), store)
    dse.report(store, tmp_path / "kernels.html")
    assert "gtx580" in (tmp_path / "kernels.html").read_text(encoding="utf-8")


def test_numbers_of_settings_have_units_and_their_source(tmp_path: Path):
    """All of them were "stated in the scenario", without a unit."""
    dse.report(CLOCKS, tmp_path / "clocks.html")
    page = (tmp_path / "clocks.html").read_text(encoding="utf-8")
    rows = page.partition("Machine parameters")[2]
    assert rows.count("stated in the scenario") == 1
    for shown in ("5.5 W", "180 MHz", "Table I, row 10"):
        assert shown in rows

"""Machines whose titles are too long for legends and ticks, and differ at their ends only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

LONG = "NVIDIA H100 SXM 80 GB of our own cluster, measured in March 2026 with clocks fixed at 1.2 GHz and <ECC> on"
ALIKE = (LONG, f"{LONG}, second rack")


def machine_files(folder: Path, titles: Sequence[str]) -> list[str]:
    """Write a machine file for each title; returns their paths."""
    files = [folder / f"m{i}.toml" for i in range(len(titles))]
    for i, (file, title) in enumerate(zip(files, titles, strict=True)):
        figures = f'[figures]\npeak_fp32 = "{60 - i} TFLOPS"\nmemory_bandwidth = "3 TB/s"\n'
        power = 'thermal_design_power = "600 W"\n'
        file.write_text(f"title = '{title}'\nsource = 'me'\n{figures}{power}", "utf-8")
    return [str(file) for file in files]


def energies_by_intensity(machines: Sequence[str], title: str) -> dict[str, Any]:
    """Return a question without decisions: energies on machines, over four intensities."""
    return {
        "title": title,
        "model": "roofline",
        "given": {"flops": 1e12},
        "objective": {"minimize": "energy"},
        "sweep": {
            "intensity": {"path": "intensity", "values": [0.1, 1.0, 10.0, 100.0]},
            "platform": {"path": "machine", "values": list(machines)},
        },
    }

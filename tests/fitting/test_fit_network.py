"""Latency and bandwidth come back from messages and from collectives, whose algorithm is found."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.fitting import FittingError

LATENCY, BANDWIDTH = 3e-6, 50e9
SIZES = 2.0 ** np.arange(4, 26)
MEMBERS = np.array([2.0, 4.0, 8.0, 16.0, 32.0])
# steps and volumes by Thakur, Rabenseifner and Gropp 2005, typed again for powers of two
COSTS = {
    ("allreduce", "ring"): (lambda p: 2 * (p - 1), lambda p: 2 * (p - 1) / p),
    ("allreduce", "halving and doubling"): (lambda p: 2 * np.log2(p), lambda p: 2 * (p - 1) / p),
    ("allreduce", "recursive doubling"): (np.log2, np.log2),
    ("allgather", "ring"): (lambda p: p - 1, lambda p: (p - 1) / p),
    ("reduce_scatter", "recursive halving"): (np.log2, lambda p: (p - 1) / p),
    ("broadcast", "binomial tree"): (np.log2, np.log2),
    ("broadcast", "scatter and allgather"): (lambda p: np.log2(p) + p - 1, lambda p: 2 * (p - 1) / p),
    ("reduce", "reduce-scatter and gather"): (lambda p: 2 * np.log2(p), lambda p: 2 * (p - 1) / p),
    ("alltoall", "Bruck"): (np.log2, lambda p: np.log2(p) / 2),
}


def noisy(time: Any, seed: int, noise: float = 0.03) -> Any:
    return time * np.exp(noise * np.random.default_rng(seed).standard_normal(time.shape))


def messages(seed: int) -> dict[str, Any]:
    size = np.repeat(SIZES, 3)
    return {"size [kB]": size / 1e3, "time [us]": noisy(LATENCY + size / BANDWIDTH, seed) * 1e6}


def collective(kind: str, algorithm: str, seed: int) -> dict[str, Any]:
    size, members = (a.ravel() for a in np.meshgrid(SIZES, MEMBERS))
    steps, volumes = (f(members) for f in COSTS[kind, algorithm])
    time = noisy(steps * LATENCY + volumes * size / BANDWIDTH, seed)
    return {"size": size, "members": members, "collective": [kind] * size.size, "time": time}


def test_messages_give_latency_and_bandwidth_within_their_intervals():
    """95 % intervals: each at least 8 of 10 times."""
    held = {"time_per_message": 0, "bandwidth": 0}
    for seed in range(10):
        found = dse.fit(messages(seed), "network")
        held["time_per_message"] += found["time_per_message"].holds(LATENCY)
        held["bandwidth"] += found["bandwidth"].holds(BANDWIDTH)
        assert not found.outliers
    assert min(held.values()) >= 8, held


@pytest.mark.parametrize(("kind", "algorithm"), COSTS)
def test_the_algorithm_of_a_collective_is_found(kind: str, algorithm: str):
    found = dse.fit(collective(kind, algorithm, 1), "network")
    assert f"{kind} as {algorithm}" in found.notes
    assert found["time_per_message"].value == pytest.approx(LATENCY, rel=0.02)
    assert found["bandwidth"].value == pytest.approx(BANDWIDTH, rel=0.02)


def test_the_picture_has_a_line_of_the_model_for_each_number_of_members():
    for runs, lines in ((messages(0), 1), (collective("allreduce", "ring", 0), len(MEMBERS))):
        (panel,) = dse.fit(runs, "network").plot().axes
        drawn = [line for line in panel.get_lines() if line.get_linestyle() == "-"]
        assert len(drawn) == lines
        for line in drawn:
            # a larger message of as many members takes longer
            assert (np.diff(line.get_xydata(), axis=0) >= 0).all()


def test_estimates_are_correlated_as_those_of_repeated_runs_are(tmp_path: Path):
    fits = [dse.fit(messages(seed), "network") for seed in range(60)]
    latency, per_word = (np.array([f[n].value for f in fits]) for n in ("time_per_message", "time_per_word"))
    ((a, b, told),) = fits[0].correlation
    assert (a, b) == ("time_per_message", "time_per_word")
    # of 60 pairs a correlation is known to 0.13
    assert told == pytest.approx(float(np.corrcoef(latency, per_word)[0, 1]), abs=0.35)
    # by hand: the normal equations of relative errors
    size = messages(0)["size [kB]"] * 1e3
    rows = np.stack([np.ones_like(size), size], axis=1) / (LATENCY + size / BANDWIDTH)[:, None]
    wide = np.linalg.inv(rows.T @ rows)
    assert told == pytest.approx(wide[0, 1] / np.sqrt(wide[0, 0] * wide[1, 1]), abs=0.02)
    file = tmp_path / "link.toml"
    file.write_text(fits[0].machine())
    assert dse.machines.get(str(file)).correlation == fits[0].correlation


def test_several_collectives_share_one_network():
    parts = [collective("allreduce", "ring", 1), collective("broadcast", "binomial tree", 2)]
    runs = {k: np.concatenate([p[k] for p in parts]) for k in parts[0]}
    found = dse.fit(runs, "network")
    assert {"allreduce as ring", "broadcast as binomial tree"} <= set(found.notes)
    assert {"time", "time of allreduce", "time of broadcast"} == set(found.errors)
    assert found["bandwidth"].holds(BANDWIDTH)
    assert len(found.plot().axes) == 1


def test_with_one_number_of_members_the_algorithm_is_said_to_be_open():
    runs = collective("allreduce", "ring", 1)
    eight = runs["members"] == 8
    found = dse.fit({k: np.array(v)[eight] for k, v in runs.items()}, "network")
    assert any("would fit as well, with another latency" in n for n in found.notes)


def test_the_machine_file_serves_the_models_that_send_words(tmp_path: Path):
    file = tmp_path / "link.csv"
    runs = messages(3)
    rows = zip(*runs.values(), strict=True)
    file.write_text("\n".join([",".join(runs), *(",".join(map(repr, map(float, r))) for r in rows)]))
    asked = ["fit", str(file), "--model", "network", "--word-size", "4", "-o", str(tmp_path / "link.toml")]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.stderr
    assert "link_bandwidth" in done.stdout
    read = dse.machines.get(str(tmp_path / "link.toml"))
    assert read.parameters["word_size"] == 4
    assert read.parameters["time_per_word"] == pytest.approx(4 / BANDWIDTH, rel=0.03)
    assert "not fitted" in read.provenance["word_size"]
    machine = {"base": str(tmp_path / "link.toml"), "time_per_flop": 1e-12, "energy_per_flop": 1e-11}
    machine |= {"energy_per_word": 1e-10, "energy_per_message": 0, "memory_power_per_word": 0}
    machine |= {"leakage_power": 1, "max_message": 1e6}
    asked_of = {"bodies": 1e4, "flops_per_pair": 20, "processors": 16, "memory": 4e3}
    answer = dse.solve({"model": "nbody", "machine": machine, "given": asked_of})
    assert answer.metrics["time"] > 0


def test_an_outlier_is_named():
    runs = messages(5)
    runs["time [us]"] = runs["time [us]"].copy()
    runs["time [us]"][7] *= 20
    found = dse.fit(runs, "network")
    assert [o.run for o in found.outliers] == [7]
    assert found["bandwidth"].holds(BANDWIDTH)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"members": [2.5] * 110}, "run 1 has 2.5 members, not a whole number"),
        ({"members": [1.0] * 110}, "a collective of one member sends nothing"),
        ({"collective": ["allredce"] * 110}, "'collective' of run 1 is allredce, not one of send, broadcast"),
        ({"members": None}, "column members is missing"),
        ({"size": [64.0] * 110, "members": [4.0] * 110}, "latency and bandwidth cannot be separated"),
    ],
)
def test_runs_that_tell_nothing_are_refused(change: dict[str, Any], said: str):
    runs = collective("allreduce", "ring", 1) | change
    with pytest.raises(FittingError) as caught:
        dse.fit({k: v for k, v in runs.items() if v is not None}, "network")
    assert said in str(caught.value)

"""Questions side by side: ratios, what is not shared, break-evens against formulas, other machines."""

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.commands import commandline

ROOFLINE = {"model": "roofline", "machine": "gtx-titan-choi2014", "given": {"flops": 1e9, "intensity": 2}}
TITAN, ARNDALE = "gtx-titan-choi2014", "arndale-gpu-choi2014"


def parameters(machine: str) -> dict[str, float]:
    return dict(dse.machines.get(machine).parameters)


def energy(machine: str, intensity: float) -> float:
    """Choi et al. 2014, (1) to (4), for 1e9 single-precision flops: the machine of the time and of the energy."""
    m = parameters(machine)
    data = 1e9 / intensity
    dynamic = 1e9 * m["energy_per_flop"] + data * m["energy_per_byte"]
    time = max(1e9 * m["time_per_flop"], data * m["time_per_byte"], dynamic / m["usable_power"])
    return dynamic + m["constant_power"] * time


def break_even(low: float, high: float) -> float:
    """Halve the interval in which the cheaper of the two changes."""
    sign = energy(TITAN, low) < energy(ARNDALE, low)
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (
            (middle, high) if (energy(TITAN, middle) < energy(ARNDALE, middle)) == sign else (low, middle)
        )
    return low


def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = commandline.main(list(words), standalone_mode=False)
    return code, capsys.readouterr().out


def test_one_file_on_two_machines_with_ratios_to_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    code, told = run(
        *("compare", "nbody_deadline", "--machine", "balanced", "--machine", "jaketown", "--json"),
        capsys=capsys,
    )
    found = json.loads(told)
    answers = [dse.solve(dse.load("nbody_deadline", m)) for m in ("balanced", "jaketown")]
    assert code == 0
    assert [s["label"] for s in found["sides"]] == ["balanced", "jaketown"]
    rows = {r["name"]: r for r in found["rows"]}
    least = rows["least energy"]
    assert least["values"] == pytest.approx([a.objective for a in answers], rel=1e-9)
    assert least["ratios"][1] == pytest.approx(answers[1].objective / answers[0].objective, rel=1e-9)
    low, high = least["ratios_between"][1]
    assert low <= least["ratios"][1] <= high
    assert rows["time"]["ratios"][0] == 1.0
    assert all(s["bound"] <= s["objective"] * (1 + 1e-12) and s["gap"] <= 1e-6 for s in found["sides"])


def test_designs_outside_the_range_of_the_model_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    machines = ("--machine", "balanced", "--machine", "h100-sxm")
    code, told = run("compare", "nbody_deadline", *machines, capsys=capsys)
    assert code == 0
    row = next(line for line in told.splitlines() if line.startswith("outside the"))
    assert "message_share" in row
    _, told = run("compare", "nbody_deadline", *machines[:2], *machines[:2], capsys=capsys)
    assert "outside the" not in told


def test_what_is_not_shared_is_said() -> None:
    found = dse.compare(
        ROOFLINE, {**ROOFLINE, "objective": {"minimize": "time"}, "define": {"own": "2 * time"}}
    )
    names = {r.name for r in found.rows}
    assert "energy" in names
    assert "own" not in names
    told = " ".join(found.not_shared())
    assert "objectives differ" in told
    assert "has own, and others have not" in told
    assert "<script" not in found._repr_html_()


def test_an_answer_that_is_not_there_is_told_beside_the_others() -> None:
    short = {**ROOFLINE, "limits": {"time": {"max": "1 ns"}}}
    found = dse.compare(short, ROOFLINE, baseline=1)
    assert [s.answered for s in found.sides] == [False, True]
    assert all(r.values[0] is None for r in found.rows)
    assert any("has no answer: infeasible" in n for n in found.not_shared())


def test_break_even_in_intensity_is_that_of_the_formulas(tmp_path: Path) -> None:
    found = dse.compare(
        ROOFLINE,
        machines=(TITAN, ARNDALE),
        over="given.intensity",
        start=100,
        stop=0.1,
        points=9,
        metric="energy",
    )
    (crossing,) = found.curve.crossings
    assert crossing.at == pytest.approx(break_even(0.1, 100), rel=1e-6)
    assert crossing.high.at - crossing.low.at <= 1e-6 * crossing.at
    low, high = crossing.proved
    assert low.numbers[0] == pytest.approx(energy(TITAN, low.at), rel=1e-12)
    assert low.numbers[0] > low.numbers[1]
    assert high.numbers[0] < high.numbers[1]
    assert "searched at 9 values of given.intensity" in found.curve.sentences()[-1]
    curves = found.curve.to_dataset()
    # the curves pass through the crossing, not only through the values searched
    assert curves.sizes["intensity"] == 11
    drawn = curves["objective"].sel(intensity=[crossing.low.at, crossing.high.at])
    assert drawn.values[0] == pytest.approx(drawn.values[1], rel=1e-5)
    assert drawn.values[:, 0] == pytest.approx(drawn.values[:, 1], rel=1e-5)
    assert curves["objective"].attrs["units"] == "J"
    assert curves["ratio.objective"].sel(question=TITAN).values == pytest.approx(1.0)


def test_a_decided_objective_is_proved_on_both_sides_of_the_break_even() -> None:
    flops = dse.machines.get("jaketown").parameters["energy_per_flop"]
    question: dict[str, Any] = {
        "model": "nbody",
        "machine": {"base": "jaketown", "energy_per_flop": flops + 1e-10},
        "given": {"bodies": 1e5, "flops_per_pair": 20, "memory": 2e4},
        "decide": {"processors": {"max": 25}},
        "objective": {"minimize": "energy"},
    }
    # dearer flops against dearer words: few flops per pair favour the first
    other = {**question, "machine": {"base": "jaketown", "energy_per_word": "100 uJ/word"}}
    found = dse.compare(question, other, over="flops_per_pair", start=2, stop=100, points=3)
    for crossing in found.curve.crossings:
        assert crossing.proved is not None
        low, high = crossing.proved
        (a, b), (bound_a, bound_b) = low.numbers, low.bounds
        first = a < b
        assert (a < bound_b) if first else (b < bound_a)
        (a, b), (bound_a, bound_b) = high.numbers, high.bounds
        assert (b < bound_a) if first else (a < bound_b)
        assert high.at - low.at <= 1e-5 * low.at
        here = dse.solve({**question, "given": {**question["given"], "flops_per_pair": low.at}})
        assert here.objective == pytest.approx(low.numbers[0], rel=1e-6)
    assert len(found.curve.crossings) == 1


def test_where_one_becomes_infeasible_is_enclosed_and_proved() -> None:
    limited = {**ROOFLINE, "limits": {"time": {"max": "1 s"}}}
    found = dse.compare(
        *(limited, {**limited, "given": {"flops": 2e9, "intensity": 2}}),
        over="limits.time.max", start=1e-4, stop=1, points=7, metric="energy",
    )  # fmt: skip
    m = parameters(TITAN)
    times = [
        max(f * m["time_per_flop"], f / 2 * m["time_per_byte"],
            f * (m["energy_per_flop"] + m["energy_per_byte"] / 2) / m["usable_power"])
        for f in (1e9, 2e9)
    ]  # fmt: skip
    assert [c.at for c in found.curve.crossings] == pytest.approx(times, rel=2e-6)
    assert found.curve.crossings[0].proved[0].status == ("infeasible", "infeasible")
    assert "have less" not in found.curve.crossings[0].after


@pytest.mark.parametrize("machines", [(TITAN, ARNDALE), (ARNDALE, TITAN)])
def test_a_break_even_beside_infinite_numbers_is_found_in_either_order(machines: tuple[str, str]) -> None:
    found = dse.compare(
        ROOFLINE, machines=machines, over="given.intensity", start=0, stop=512, points=4, metric="energy"
    )
    # both energies are infinite at intensity 0
    (crossing,) = found.curve.crossings
    assert crossing.at == pytest.approx(break_even(0.1, 100), rel=1e-6)
    assert crossing.proved is not None
    assert f"{ARNDALE} has less" in crossing.before
    assert any("no order" in s and s.endswith("at 0 flop/byte") for s in found.curve.sentences())


@pytest.mark.parametrize("machines", [(TITAN, ARNDALE), (ARNDALE, TITAN)])
def test_the_order_is_read_where_numbers_have_one(machines: tuple[str, str]) -> None:
    found = dse.compare(
        ROOFLINE, machines=machines, over="given.intensity", start=0, stop=10, points=3, metric="power"
    )
    # both powers are undefined at intensity 0
    assert found.curve.crossings == ()
    assert found.curve.sentences()[0].startswith(f"no crossing: {ARNDALE} has the least power at every value")


def test_an_order_that_differs_on_both_sides_of_no_order_is_told() -> None:
    asked = {**ROOFLINE, "define": {"own": "1 / (intensity - 4 flop/byte) / flops"}}
    found = dse.compare(
        asked, {**asked, "given": {"flops": 2e9, "intensity": 2}},
        over="given.intensity", start=2, stop=6, points=3, metric="own",
    )  # fmt: skip
    # 1 / 0 at 4: before it the greater share is less, after it the smaller one
    (crossing,) = found.curve.crossings
    assert crossing.at == pytest.approx(4)
    assert crossing.high.at - crossing.low.at <= 1e-5


def test_points_are_spread_over_the_axis_of_a_file() -> None:
    asked = {
        **ROOFLINE,
        "sweep": {"i": {"path": "intensity", "start": 0.5, "stop": 8, "num": 3, "spacing": "log"}},
    }
    found = dse.compare(asked, machines=(TITAN, ARNDALE), over="given.intensity", points=5, metric="energy")
    assert found.curve.searched == 5
    assert found.curve.spacing == "evenly by ratio"
    even = {**ROOFLINE, "sweep": {"i": {"path": "intensity", "values": [2, 4, 6]}}}
    found = dse.compare(even, machines=(TITAN, ARNDALE), over="given.intensity", points=5, metric="energy")
    assert found.curve.values == (2, 3, 4, 5, 6)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nbody_deadline",), "only one question"),
        (("nbody_deadline", "matmul_energy_delay_squared", "--baseline", "nbody_dedline"),
         "baseline (--baseline): none of the questions is called"),
        (("nbody_deadline", "matmul_energy_delay_squared", "--baseline", "nbody_dedline"), "did you mean"),
        (("nbody_deadline", "nbody_nope"), "no such file"),
        (("nbody_deadline", "nbody_deadline", "--over", "given.bodeis", "--from", "1", "--to", "2"), "names nothing"),
        (("nbody_deadline", "nbody_deadline", "--over", "bodies"), "bodies has no range"),
        (("nbody_deadline", "nbody_deadline", "--over", "foo"), 'over: the path "foo" names nothing'),
        (("nbody_deadline", "nbody_deadline", "--over", "machine", "--from", "1", "--to", "2"), ""),
        (("nbody_deadline", "matmul_energy_delay_squared", "--over", "limits.time.max", "--from", "1 s", "--to", "2 s"),
         "share no objective"),
        (("nbody_deadline_sweep", "nbody_deadline"), "this scenario sweeps"),
        (("nbody_deadline_sweep", "nbody_deadline"), "`dse sweep FILE -o STORE --baseline-machine NAME`"),
        (("nbody_deadline", "nbody_deadline", "-o", "x.png"), "--over"),
        (("partition_cheapest_run", "--machine", "balanced", "--machine", "jaketown"), "name the entry"),
    ],
)  # fmt: skip
def test_bad_comparisons_end_in_one_message(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        commandline.main(["compare", *words])
    said = capsys.readouterr()
    assert end.value.code == 2
    assert told in said.err
    assert "Traceback" not in said.err


def test_pages_tables_and_pictures_of_a_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.toml"
    file.write_text(
        'model = "roofline"\nmachine = "gtx-titan-choi2014"\n[given]\nflops = 1e9\nintensity = 2\n'
    )
    outputs = [tmp_path / f"x.{kind}" for kind in ("csv", "html", "json", "png")]
    words = [w for o in outputs for w in ("-o", str(o))]
    over = ("--over", "intensity", "--from", "1", "--to", "4", "--points", "3", "--metric", "energy")
    code, told = run(
        "compare", str(file), "--machine", TITAN, "--machine", ARNDALE, *over, *words, capsys=capsys
    )
    assert code == 0
    assert all(o.stat().st_size > 200 for o in outputs)
    assert "proved at" in told
    assert "Side by side" in outputs[1].read_text()


# ── another machine ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_another_machine_stands_in_the_stored_question(tmp_path: Path) -> None:
    asked = dse.load("nbody_deadline", "jaketown")
    assert tomllib.loads(asked.text)["machine"] == "jaketown"
    assert 'in place of "balanced"' in asked.text
    own = tmp_path / "mine.toml"
    own.write_text(Path(dse.machines.__file__).parent.joinpath("jaketown.toml").read_text())
    mine = dse.load("nbody_deadline", str(own))
    assert "sha256" in mine.text
    assert dse.solve(mine).objective == pytest.approx(dse.solve(asked).objective, rel=1e-9)
    (tmp_path / "stored.toml").write_text(mine.text)
    again = dse.load(tmp_path / "stored.toml")
    assert dse.solve(again).objective == dse.solve(mine).objective


def test_a_file_without_a_machine_gets_one() -> None:
    bare = {k: v for k, v in ROOFLINE.items() if k != "machine"}
    assert dse.solve(dse.load(bare, TITAN)).metrics["energy"] == pytest.approx(energy(TITAN, 2), rel=1e-12)


@pytest.mark.parametrize(
    ("question", "machine", "told"),
    [
        ({**ROOFLINE, "machine": {"base": TITAN, "usable_power": "10 W"}}, ARNDALE, "changes usable_power"),
        (
            {**ROOFLINE, "sweep": {"on": {"path": "machine", "values": [TITAN, ARNDALE]}}},
            ARNDALE,
            "swept here",
        ),
        (ROOFLINE, "cpu=" + ARNDALE, "map of machines"),
        (ROOFLINE, "./nowhere.toml", "nowhere.toml"),
        (ROOFLINE, "arndale-gpu-choi2041", "did you mean"),
    ],
)
def test_another_machine_that_cannot_be_is_refused(question: dict[str, Any], machine: str, told: str) -> None:
    with pytest.raises(dse.load.__globals__["scenarios"].ScenarioError, match=told):
        dse.load(question, machine)


# ── ratios in sweeps ────────────────────────────────────────────────────────────────────────────────────────────────

SWEPT = {**ROOFLINE, "sweep": {"intensity": {"path": "given.intensity", "values": [0.5, 1, 2, 8, 32]}}}


def test_a_sweep_has_ratios_to_a_baseline_along_its_axes(tmp_path: Path) -> None:
    store = tmp_path / "study.zarr"
    made = dse.sweep(SWEPT, store, baseline=dse.load(SWEPT, ARNDALE), progress=False)
    expected = [energy(TITAN, x) / energy(ARNDALE, x) for x in (0.5, 1, 2, 8, 32)]
    again = dse.open(store)
    for found in (made, again):
        assert found["ratio.energy"].values == pytest.approx(expected, rel=1e-12)
    assert again["ratio.energy"].attrs["units"] == "1"
    assert "as a multiple of that of" in again["ratio.energy"].attrs["long_name"]
    assert again["ratio.energy"][1:4:2].values == pytest.approx(expected[1:4:2], rel=1e-12)
    assert again.isel(intensity=3)["ratio.energy"].item() == pytest.approx(expected[3], rel=1e-12)
    assert dse.verify(store, audit=0).passed
    table = dse.export(store, tmp_path / "x.csv", columns=["intensity", "ratio.energy"])
    assert float(table.read_text().splitlines()[1].split(",")[1]) == pytest.approx(expected[0], rel=1e-12)


def test_a_baseline_of_one_answer_and_one_that_does_not_fit(tmp_path: Path) -> None:
    store = tmp_path / "study.zarr"
    found = dse.sweep(SWEPT, store, baseline=ROOFLINE, progress=False)
    expected = [energy(TITAN, x) / energy(TITAN, 2) for x in (0.5, 1, 2, 8, 32)]
    assert found["ratio.energy"].values == pytest.approx(expected, rel=1e-12)
    from results.stores.files.trouble import StoreError

    with pytest.raises(StoreError, match="has ratios to"):
        dse.sweep(SWEPT, store, baseline=dse.load(ROOFLINE, ARNDALE), progress=False)
    other = {**SWEPT, "sweep": {"intensity": {"path": "given.intensity", "values": [0.5, 1]}}}
    with pytest.raises(StoreError, match="axis intensity"):
        dse.sweep(SWEPT, baseline=other, progress=False)
    # before anything is solved
    with pytest.raises(StoreError, match="axis intensity"):
        dse.sweep(SWEPT, tmp_path / "other.zarr", baseline=other, progress=False)
    assert not (tmp_path / "other.zarr").exists()


@pytest.mark.parametrize("command", ["solve", "check", "explain", "front"])
def test_one_question_is_asked_on_one_machine(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        commandline.main([command, "nbody_deadline", "--machine", "balanced", "--machine", "jaketown"])
    assert ended.value.code == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "--machine is given 2 times" in told
    assert "dse compare FILE --machine balanced --machine jaketown" in told


ROWS = {"paths": {"intensity": [0.5, 2], "flops": [1e9, 1e9]}}


@pytest.mark.parametrize(
    "other",
    [
        {"paths": {"intensity": [0.5, 4], "flops": [1e9, 1e9]}},
        {"paths": {"intensity": [0.5, 2, 8], "flops": [1e9, 1e9, 1e9]}},
        {"paths": {"intensity": [0.5, 2], "machine.usable_power": [150, 160]}},
        {"path": "given.intensity", "values": [1, 2]},
    ],
)
def test_rows_are_divided_by_the_same_rows_only(other: dict[str, Any]) -> None:
    from results.stores.files.trouble import StoreError

    asked = {**ROOFLINE, "sweep": {"run": ROWS}}
    with pytest.raises(StoreError, match="axis run is none of the sweep's"):
        dse.sweep(asked, baseline={**ROOFLINE, "sweep": {"run": other}}, progress=False)
    found = dse.sweep(asked, baseline=dse.load(asked, ARNDALE), progress=False)
    expected = [energy(TITAN, x) / energy(ARNDALE, x) for x in (0.5, 2)]
    assert found["ratio.energy"].values == pytest.approx(expected, rel=1e-12)


def test_an_extended_sweep_keeps_its_ratios_to_one_answer_and_says_which_it_cannot_keep(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, wider = tmp_path / "study.zarr", [0.5, 1, 2, 4, 8, 32]
    more = {**SWEPT, "sweep": {"intensity": {"path": "given.intensity", "values": wider}}}
    dse.sweep(SWEPT, store, baseline=ROOFLINE, progress=False)
    found = dse.sweep(more, store, extend=True, progress=False)
    expected = [energy(TITAN, x) / energy(TITAN, 2) for x in wider]
    assert found["ratio.energy"].values == pytest.approx(expected, rel=1e-12)
    assert dse.verify(store, audit=0).passed
    along = tmp_path / "along.zarr"
    dse.sweep(SWEPT, along, baseline=dse.load(SWEPT, ARNDALE), progress=False)
    capsys.readouterr()
    assert "ratio.energy" not in dse.sweep(more, along, extend=True, progress=True)
    assert "not kept: give the baseline with the new values" in capsys.readouterr().err

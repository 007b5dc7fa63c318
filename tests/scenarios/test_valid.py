"""``valid = true``: the range in which a model was derived, as limits that are in force only where a file asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dse
import scenarios
from dse.commands.commandline import main
from dse.models import registry
from dse.models.model import ModelLimit
from dse.reporting import reports
from results.solution import Solution
from results.summaries import outside
from results.telling.limits import limit_names
from scenarios import ScenarioError
from scenarios.language.toml_text import to_toml
from solvers.sampling import studies

SHARE = "valid.message_share"
QUESTION: dict[str, Any] = {
    "model": "nbody",
    "machine": {"base": "balanced", "max_message": 5000},
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "0.5 s"}},
}
POINT = {"decide": {}, "objective": None, "given": {**QUESTION["given"], "processors": 400, "memory": 4000}}


def asked(**changes: Any) -> dict[str, Any]:
    return {k: v for k, v in {**QUESTION, **changes}.items() if v is not None}


def solved(**changes: Any) -> Solution:
    return dse.solve(asked(**changes))


def names(**changes: Any) -> tuple[str, ...]:
    return limit_names(scenarios.grid(dse.load(asked(**changes))).question(()))


def test_it_is_a_limit_only_where_asked_for() -> None:
    assert names(valid=True) == (*names(), SHARE)
    assert names(valid=False) == names()


def test_memory_takes_one_message_where_less_would_be_cheaper() -> None:
    # without it 3876 words are best, with messages of 5000
    free, held = solved(), solved(valid=True)
    assert free.metrics["message_share"] == pytest.approx(5000 / free.variables["memory"])
    assert free.variables["memory"] < 4000
    assert held.status == "optimal"
    assert held.variables["memory"] == pytest.approx(5000, rel=1e-6)
    assert held.limits[SHARE].binding
    assert held.objective > free.objective


def test_an_answer_outside_says_so_whether_waived_or_never_asked_for() -> None:
    free, waived = solved(), solved(valid=True, waive=[SHARE])
    assert waived.objective == pytest.approx(free.objective, rel=1e-9)
    assert waived.waived == (SHARE,)
    for found in (free, waived):
        assert found.outside == {"message_share": found.metrics["message_share"]}
        assert "outside" in str(found)
    assert not solved(valid=True).outside
    assert "outside" not in str(solved(valid=True))


def test_the_json_of_an_answer_tells_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(
        'model = "nbody"\nmachine = "jaketown"\n[given]\nbodies = 1e6\nflops_per_pair = 20\n'
        "processors = 64\nmemory = 1e5\n"
    )
    with pytest.raises(SystemExit) as ended:
        main(["solve", str(file), "--json"])
    assert not ended.value.code
    told = json.loads(capsys.readouterr().out)
    assert told["outside"] == {"message_share": told["metrics"]["message_share"]}


def test_it_stands_in_a_conflict() -> None:
    # 5 ms take 20 000 processors, whose memories of n/sqrt(p) are 705 words; a message is 1000
    decide = {"processors": {"max": 1e6}, "memory": {}}
    found = solved(valid=True, machine="balanced", decide=decide, limits={"time": {"max": "5 ms"}})
    assert [frozenset(c) for c in found.conflicts] == [{"time", "replication", SHARE}]


def test_a_given_design_outside_breaks_it() -> None:
    assert solved(**POINT).status == "evaluated"
    found = solved(**POINT, valid=True)
    assert (found.status, found.conflicts) == ("infeasible", ((SHARE,),))
    assert found.conflict[SHARE] == pytest.approx(5000 / 4000)


def test_each_kernel_keeps_to_the_range_of_its_own_model() -> None:
    kernels = [
        {"name": "forces", "model": "nbody", "given": {"bodies": 1e5, "flops_per_pair": 10}},
        {"name": "product", "model": "matmul", "given": {"order": 1000}},
        {"name": "waves", "model": "fft", "given": {"points": 1e6, "all_to_all": "tree"}},
    ]
    decide = {"processors": {"max": 4096}, "forces.memory": {}, "product.memory": {}}
    more = {"model": None, "given": None, "kernels": kernels, "decide": decide, "valid": True}
    both = ["valid.forces.message_share", "valid.product.message_share"]
    assert [n for n in names(**more) if n.startswith("valid")] == both
    assert [n for n in names(**more, waive=both[0]) if n.startswith("valid")] == both[1:]


@pytest.mark.parametrize(
    ("more", "key", "wrong", "right"),
    [
        ({"valid": "yes"}, "valid", "neither true nor false", "true or false"),
        (
            {"valid": True, "model": "lu", "given": {"order": 1e4}},
            "valid",
            "lu states no range",
            "leave it out",
        ),
        ({"waive": [SHARE]}, "waive[0]", "not in force", "valid = true"),
        ({"valid": True, "waive": ["valid.share"]}, "waive[0]", '"valid.share"', SHARE),
        ({"valid": True, "limits": {SHARE: {"max": 2}}}, f"limits.{SHARE}", "itself", "waive"),
    ],
)
def test_mistakes(more: dict[str, Any], key: str, wrong: str, right: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenarios.grid(dse.load(asked(**more)))
    (found,) = caught.value.problems
    assert (found.key, wrong in found.wrong, right in found.right) == (key, True, True), found


def test_a_study_with_it_is_another_study() -> None:
    with_it, without = (scenarios.grid(dse.load(asked(valid=v))).question(()) for v in (True, False))
    assert studies.identity(with_it) != studies.identity(without)


def test_a_range_is_stated_by_a_metric_that_is_a_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    monkeypatch.setattr(registry, "_registered", {})
    limit = ModelLimit("time", "T <= 1", "short", "nowhere")
    with pytest.raises(ValueError, match="no metric without unit"):
        dse.models.register(replace(dse.models.get("nbody"), name="other", valid=(limit,)))


SWEEP = {"deadline": {"path": "limits.time.max", "values": ["1 ms", "0.1 s", "0.5 s"]}}


def test_a_sweep_says_at_how_many_points_and_which_condition(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Of answered points only: no 4096 processors are done after 1 ms. The same from the store, and point by point."""
    asked_for = dse.load(asked(sweep=SWEEP))
    found = dse.sweep(asked_for, tmp_path / "study.zarr")
    assert found["message_share"].attrs["validity"].startswith("at most 1 in the range")
    alone = [dse.solve(asked(limits={"time": {"max": most}})) for most in SWEEP["deadline"]["values"]]
    expected = {"message_share": sum(bool(x.outside) for x in alone)}
    assert expected == {"message_share": 2}
    assert outside.counts([found]) == expected
    assert outside.counts([dse.open(tmp_path / "study.zarr")]) == expected
    assert outside.counts([found.isel(deadline=[0])]) == {}
    told = told_by(capsys, "sweep", "--summary", "-o", str(tmp_path / "study.zarr"))
    assert "outside the range in which the model was derived: message_share above 1 at 2 of 2 points" in told
    assert "message_share above 1 at 2 of 2 points" in str(reports.of_dataset(found).answer)
    held = dse.sweep(dse.load(asked(sweep=SWEEP, valid=True)))
    assert outside.counts([held]) == {}
    assert "outside" not in dict(reports.of_dataset(held).answer)


def test_each_kernel_is_counted_by_itself() -> None:
    kernels = [
        {"name": "forces", "model": "nbody", "given": {"bodies": 1e5, "flops_per_pair": 10, "memory": 2000}},
        {"name": "product", "model": "matmul", "given": {"order": 1000, "memory": 9000}},
    ]
    more = {"model": None, "kernels": kernels, "given": {"processors": 400}, "decide": {}, "limits": {}}
    axis = {"leakage": {"path": "machine.leakage_power", "values": ["0 W", "1 W"]}}
    assert outside.counts([dse.sweep(dse.load(asked(**more, sweep=axis)))]) == {"forces.message_share": 2}


def test_fronts_say_it_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "front.toml"
    file.write_text(to_toml(asked(objective={"minimize": ["energy", "time"]})))
    told = told_by(capsys, "front", "--points", "3", str(file))
    assert "Outside the range in which the model was derived: message_share above 1 at 3 of 3 points" in told


def told_by(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert not ended.value.code
    return " ".join(capsys.readouterr().out.split())

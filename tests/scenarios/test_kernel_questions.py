"""[[kernels]]: what may be said, what comes of it, and one clear message for each mistake."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kernel_questions import FORCES, PRODUCT, QUESTION, SPMV, asked, kernels

import dse
import scenarios
from dse import models, workloads
from dse.commands.commandline import main
from dse.models import registry
from dse.workloads import catalogue
from formulations.problem import Kind, formulate
from results import breakdowns
from results.stores.store import StoreError
from scenarios import ScenarioError


def names(**changes: Any) -> list[str]:
    """Return the inputs of the model that a question has."""
    return [q.name for q in scenarios.grid(dse.load(asked(**changes))).question(()).model.inputs]


def test_a_sum_of_posynomials_is_a_geometric_program() -> None:
    question = scenarios.grid(dse.load(asked())).question(())
    assert formulate(question).kind is Kind.GP
    answer = dse.solve(asked())
    assert answer.status == "optimal"
    assert answer.gap <= 1e-6
    at = answer.metrics
    assert at["energy"] == pytest.approx(at["forces.energy"] + 20 * at["product.energy"], rel=1e-12)


def test_kernels_with_nothing_in_common_have_the_sum_of_their_optima() -> None:
    own = {f"{k}.{n}": {} for k in ("forces", "product") for n in ("processors", "memory")}
    both = dse.solve(
        asked(decide=own, limits={"forces.time": {"max": "0.3 s"}, "product.time": {"max": "50 ms"}})
    )
    alone = {
        "machine": "balanced",
        "decide": {"processors": {}, "memory": {}},
        "objective": {"minimize": "energy"},
    }
    forces = dse.solve(
        {**alone, "model": "nbody", "given": FORCES["given"], "limits": {"time": {"max": "0.3 s"}}}
    )
    product = dse.solve(
        {**alone, "model": "matmul", "given": PRODUCT["given"], "limits": {"time": {"max": "50 ms"}}}
    )
    # each optimum is proved to 1e-6
    assert both.objective == pytest.approx(forces.objective + 20 * product.objective, rel=2e-6)


def test_a_logarithm_of_processors_makes_it_no_geometric_program() -> None:
    spectrum = {"name": "spectrum", "model": "fft", "given": {"points": 1e9}}
    question = scenarios.grid(
        dse.load(asked(kernels=[FORCES, spectrum], decide={"processors": {}, "memory": {}}))
    )
    assert formulate(question.question(())).kind is Kind.NLP


class TestNames:
    def test_an_input_without_a_prefix_is_one_number_for_all(self) -> None:
        found = names(decide={"processors": {}, "memory": {}})
        assert "memory" in found
        assert not {"forces.memory", "product.memory"} & set(found)

    def test_what_a_kernel_states_is_its_own(self) -> None:
        own = {"given": {**FORCES["given"], "memory": 2e3}}  # type: ignore[dict-item]
        found = names(kernels=kernels(own), decide={"processors": {}, "product.memory": {}})
        assert {"forces.memory", "product.memory", "forces.bodies", "processors"} <= set(found)

    def test_a_table_of_a_kernel_means_dotted_names(self) -> None:
        nested = asked(
            decide={"processors": {"max": 4096}, "forces": {"memory": {}}, "product": {"memory": {}}}
        )
        assert dse.solve(nested).objective == dse.solve(asked()).objective
        given = {"forces": {"memory": 2e3}, "product": {"memory": 5e4}}
        assert "forces.memory" in names(given=given, decide={"processors": {}})

    def test_a_limit_on_one_kernel_binds_it_alone(self) -> None:
        free = dse.solve(asked())
        held = dse.solve(
            asked(limits={"time": {"max": "1 s"}, "forces.time": {"max": free.metrics["forces.time"] / 2}})
        )
        assert held.metrics["forces.time"] == pytest.approx(free.metrics["forces.time"] / 2, rel=1e-6)
        assert held.objective > free.objective

    def test_a_limit_of_a_kernel_is_waived_by_its_name(self) -> None:
        question = scenarios.grid(dse.load(asked(waive=["forces.replication"]))).question(())
        assert question.waive == {"forces.replication"}

    def test_what_is_infeasible_names_the_limits_of_kernels(self) -> None:
        answer = dse.solve(asked(limits={"forces.time": {"max": "1 us"}}))
        assert answer.status == "infeasible"
        assert {"forces.time", "processors"} in [set(c) for c in answer.conflicts]


class TestSweeps:
    def test_inputs_and_repeats_of_kernels_are_swept(self) -> None:
        axes = {
            "bodies": {"path": "given.forces.bodies", "values": [5e4, 1e5]},
            "runs": {"path": "product.repeat", "values": [1, 20]},
            "time_limit": {"path": "limits.forces.time.max", "values": ["0.3 s", "0.5 s"]},
        }
        found = dse.sweep(dse.load(asked(sweep=axes)), workers=1, progress=False)
        assert (found["status"] == 1).all()
        place = {"bodies": 5e4, "runs": 20, "time_limit": 0.3}
        one = asked(
            kernels=kernels({"given": {"bodies": 5e4, "flops_per_pair": 10}}),
            limits={"time": {"max": "1 s"}, "forces.time": {"max": "0.3 s"}},
        )
        # within the gap that an answer may leave
        assert float(found["objective"].sel(place)) == pytest.approx(dse.solve(one).objective, rel=2e-6)

    def test_a_stored_study_of_other_kernels_is_another(self, tmp_path: Path) -> None:
        axes = {"bodies": {"path": "given.forces.bodies", "values": [5e4, 1e5]}}
        question = asked(decide=None, given={"processors": 64, "memory": 1e5}, sweep=axes, limits=None)
        store = tmp_path / "study.zarr"
        found = dse.sweep(dse.load(question), store=store, workers=1, progress=False)
        assert found["time"].shape == (2,)
        other = {**question, "kernels": kernels({}, {"repeat": 21})}
        with pytest.raises(StoreError, match="other"):
            dse.sweep(dse.load(other), store=store, workers=1, progress=False)

    def test_what_each_kernel_takes_is_a_breakdown(self) -> None:
        axes = {"bodies": {"path": "given.forces.bodies", "values": [5e4, 1e5]}}
        own = {"processors": 64, "forces.memory": 2e3, "product.memory": 5e4}
        question = asked(decide=None, given=own, sweep=axes, limits=None)
        found = breakdowns.breakdown(dse.sweep(dse.load(question), workers=1, progress=False), "energy")
        assert (found.by, list(found.parts)) == ("kernel", ["forces", "product"])


def test_text_made_in_python_is_read_as_the_same_question() -> None:
    question = dse.load(asked())
    assert scenarios.from_text(question.text) == question == dse.Scenario(**asked())


def test_a_definition_may_replace_an_input_of_a_kernel() -> None:
    defined = asked(
        decide={"processors": {"max": 4096}, "forces.memory": {}, "block": {"min": 10, "max": 1e5}},
        define={"product.memory": "3 * block**2", "shares": "forces.energy / energy"},
    )
    answer = dse.solve(defined)
    assert answer.objective == pytest.approx(dse.solve(asked()).objective, rel=1e-6)
    assert answer.metrics["product.memory"] == pytest.approx(3 * answer.variables["block"] ** 2, rel=1e-12)
    shares = answer.metrics["forces.energy"] / answer.objective
    assert answer.metrics["shares"] == pytest.approx(shares, rel=1e-12)


@pytest.mark.parametrize("more", [{"idle": "on"}, {"overlap": True}])
def test_one_model_has_nothing_to_overlap(more: dict[str, Any]) -> None:
    alone = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 1, "processors": 4},
    }
    with pytest.raises(ScenarioError) as caught:
        dse.load({**alone, "decide": {"memory": {}}, **more})
    assert [p.key for p in caught.value.problems] == list(more)


def test_a_model_that_does_not_say_what_its_energy_is_made_of_runs_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    silent = replace(models.get("nbody"), name="silent", sums=(), work=())
    monkeypatch.setattr(registry, "_registered", {**registry._registered, "silent": silent})
    question = asked(
        kernels=kernels({"model": "silent"}), decide={"processors": {}, "memory": {}}, limits=None
    )
    fixed = {
        **question,
        "decide": {},
        "given": {"processors": 64, "forces.memory": 2e3, "product.memory": 5e4},
    }
    told = {**fixed, "kernels": QUESTION["kernels"]}
    mine, ours = dse.solve(fixed), dse.solve(told)
    # without a declared product the flops are performance times time
    assert mine.metrics["performance"] == pytest.approx(ours.metrics["performance"], rel=1e-14)
    for more in ({"overlap": True}, {"idle": "on"}):
        with pytest.raises(ScenarioError, match="silent does not declare"):
            dse.load({**question, **more})


def test_a_code_on_a_roofline_has_no_processors_that_leak() -> None:
    with pytest.raises(ScenarioError, match="none of these kernels has processors"):
        dse.load({"machine": "gtx-titan-choi2014", "kernels": [SPMV], "idle": "on"})


def test_the_schema_has_kernels() -> None:
    schema = scenarios.json_schema()
    entry = schema["$defs"]["KernelEntry"]
    assert schema["properties"]["kernels"]["items"] == {"$ref": "#/$defs/KernelEntry"}
    assert set(entry["properties"]) == {"name", "model", "workload", "size", "given", "repeat"}
    assert entry["additionalProperties"] is False
    assert {"type": "boolean"} in schema["properties"]["idle"]["anyOf"]


class TestWorkloads:
    def test_each_is_read_and_says_where_its_numbers_come_from(self) -> None:
        found = list(workloads.every())
        assert len(found) >= 15
        for w in found:
            assert w.title
            assert w.source
            assert w.unit.startswith("one ")
            assert all(w.provenance.values())
            # of what is a run by itself there is one unless said
            kernel = {"name": "code", "workload": w.name} | ({} if w.whole else {"size": 1})
            dse.load({"machine": "gtx-titan-choi2014", "kernels": [kernel]})

    @pytest.mark.parametrize(
        ("name", "low", "high"),
        [
            # Choi et al. 2014, section I; Williams et al. 2009, Table 2; Tang et al. 2017, section 6.3
            ("spmv", 0.25, 0.5),
            ("fft", 2.0, 4.0),
            ("stencil", 0.33, 0.5),
            ("vector-add", 0.08, 0.1),
            ("powers", 8.0, 8.0),
            ("gemm-tang2017", 0.24, 0.25),
        ],
    )
    def test_intensities_are_those_of_the_papers(self, name: str, low: float, high: float) -> None:
        given = workloads.get(name).times(1.0)
        assert low <= float(given["flops"]) / float(given["bytes"]) <= high

    def test_its_size_counts_units(self) -> None:
        answer = dse.solve({"machine": "gtx-titan-choi2014", "kernels": [SPMV]})
        assert answer.metrics["spmv.bandwidth"] == pytest.approx(8e9 / answer.metrics["spmv.time"], rel=1e-14)
        stiff = workloads.get("minife-stiffness").times(10.0)
        assert stiff == {"flops": 10.0, "intensity": 4.9}

    def test_the_intensity_of_a_stage_of_minife_is_printed(self) -> None:
        """4.4 flops a byte of both, with 96.7 % of the flops in one: Tang et al. 2017, section 6.3.3."""
        parts = {"minife-stiffness": 0.967, "minife-assembly": 0.033}
        bytes_ = sum(share / float(workloads.get(n).times(1.0)["intensity"]) for n, share in parts.items())
        assert 1 / bytes_ == pytest.approx(4.4, abs=0.01)

    @pytest.mark.parametrize(
        ("text", "part"),
        [
            ("title = 'x'", "no tables"),
            ("[roofline.flps]\nvalue = 1", "no input"),
            ("[roofline.flops]\nsource = 'x'", "no value"),
            ("[roofline.flops]\nvalue = '1 W'", "power"),
            ("[roofline.level]\nvalue = 'L9'", "none of"),
            ("[roofline.throttle]\nvalue = 0.5", "domain"),
        ],
    )
    def test_a_file_that_is_none_is_refused(self, text: str, part: str) -> None:
        with pytest.raises(ValueError, match=part):
            catalogue.parse("wrong", text)

    @pytest.mark.parametrize("arguments", [[], ["--json"], ["spmv"], ["central-correlator", "--json"]])
    def test_they_are_listed(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main.main(["workloads", *arguments], standalone_mode=False) == 0
        assert "spmv" in capsys.readouterr().out or "central" in arguments[0]


def test_every_block_on_the_page_about_kernels_can_be_asked() -> None:
    """A block without kernels is put over the first one."""
    page = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text(encoding="utf-8")
    blocks = [tomllib.loads(text) for text in re.findall(r"^```toml\n(.*?)^```$", page, re.M | re.S)]
    assert len(blocks) >= 5
    for block in blocks:
        whole = block if "kernels" in block else {**blocks[0], **block}
        assert scenarios.grid(dse.load(whole)).size == 1

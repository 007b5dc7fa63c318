"""A question holds every name resolved and every number in SI."""

import math
import re
import tomllib
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dse
import scenarios
from dse import machines, models
from scenarios import ScenarioError, from_text, json_schema, load, template
from scenarios.language.scenario import Scenario
from scenarios.question import HALVINGS, Decision, Limit, Objective, Question
from scenarios.questions import question

NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": "jaketown",
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "decide": {"processors": {}, "memory": {}},
    "objective": {"minimize": "energy"},
}


def ask(**changes: Any) -> Question:
    return question(load(NBODY | changes))


def decided(name: str, entry: dict[str, Any], **changes: Any) -> Decision:
    asked = ask(decide={"processors": {}, "memory": {}, name: entry}, **changes)
    return next(d for d in asked.decide if d.name == name)


def test_given_holds_inputs_and_machine_by_their_names() -> None:
    asked = ask(machine={"base": "jaketown", "leakage_power": "10 kW", "memory_capacity": "64 GiB"})
    own = machines.get("jaketown").parameters
    assert asked.given["bodies"] == 1e6
    assert asked.given["machine.time_per_flop"] == own["time_per_flop"]
    assert asked.given["machine.leakage_power"] == 1e4
    assert asked.given["machine.memory_capacity"] == 2**34
    assert "processors" not in asked.given
    assert asked.objectives == (Objective("energy"),)
    assert (asked.gap, asked.idle, asked.waive, asked.limits) == (1e-6, False, frozenset(), ())


def test_a_whole_machine_as_a_table() -> None:
    own = dict(machines.get("jaketown").parameters)
    assert ask(machine=own).given == ask(machine="jaketown").given


def test_nested_and_quoted_machine_parameters_mean_the_same() -> None:
    nested = ask(decide={"processors": {}, "memory": {}, "machine": {"energy_per_flop": {"max_halvings": 3}}})
    quoted = ask(decide={"processors": {}, "memory": {}, "machine.energy_per_flop": {"max_halvings": 3}})
    assert nested.decide == quoted.decide
    assert "machine.energy_per_flop" not in nested.given


def test_bounds_left_open_stay_open() -> None:
    assert decided("processors", {}) == Decision("processors")
    assert decided("processors", {"min": 2, "integer": True}) == Decision(
        "processors", 2.0, None, integer=True
    )


@given(st.sampled_from(["B", "KiB", "MB", "GiB", "TB"]), st.floats(64, 900), st.sampled_from([1, 2, 4, 8]))
def test_bytes_are_read_as_words_of_the_machine(unit: str, number: float, size: int) -> None:
    factor = {"B": 1, "KiB": 2**10, "MB": 10**6, "GiB": 2**30, "TB": 10**12}[unit]
    found = decided("memory", {"max": f"{number!r} {unit}"}, machine={"base": "jaketown", "word_size": size})
    # one rounding of the product: 1e-15
    assert found.maximum == pytest.approx(number * factor / size, rel=1e-15)


def test_powers_fill_the_domain_and_bounds_stay_limits() -> None:
    found = decided("processors", {"powers_of": 2, "min": 3, "max": 100})
    assert (found.minimum, found.maximum) == (3.0, 100.0)
    # 1e25 times farther than the models' ends of a search, 1e15 processors and 1e18 words
    assert found.values == tuple(2.0**k for k in range(133))
    assert decided("memory", {"powers_of": 10}).values == pytest.approx(
        [10.0**k for k in range(44)], rel=1e-14
    )


def test_a_range_without_a_power_is_a_mistake() -> None:
    with pytest.raises(ScenarioError, match="no power of 2 lies between min = 5 and max = 7"):
        decided("processors", {"powers_of": 2, "min": 5, "max": 7})


@given(st.integers(2, 12), st.floats(1, 1e14), st.floats(12, 1e15))
def test_powers_are_all_whole_powers(of: int, low: float, ratio: float) -> None:
    high = min(low * ratio, 1e15)
    assume(of ** math.ceil(math.log(low, of)) <= high * (1 - 1e-9))
    found = decided("processors", {"powers_of": of, "min": low, "max": high}).values or ()
    assert list(found) == sorted(set(found))
    assert all(v == float(of) ** round(math.log(v, of)) for v in found)
    assert found[0] == 1.0
    assert found[-1] * of > 1e15 * (1 - 1e-9)


def test_listed_values_are_sorted_and_read_with_units() -> None:
    assert decided("memory", {"values": ["1 GiB", 5, "1 MiB", 5]}).values == (5.0, 2.0**18, 2.0**28)
    assert decided("processors", {"values": [8, 4], "integer": True}).integer


def test_halvings_count_from_the_catalogue() -> None:
    base = machines.get("jaketown").parameters["energy_per_flop"]
    free = decided("machine.energy_per_flop", {"max_halvings": 4.5})
    assert (free.base, free.maximum, free.values) == (base, base, None)
    assert free.minimum == pytest.approx(base / 2**4.5, rel=1e-15)
    whole = decided("machine.energy_per_flop", {"max_halvings": 4, "integer": True})
    assert whole.minimum == base / 16
    assert not whole.integer
    assert whole.values is not None
    assert whole.values[-5:] == tuple(base / 2**k for k in (4, 3, 2, 1, 0))
    assert list(whole.values) == sorted(whole.values)


def test_a_machine_parameter_between_bounds_counts_halvings_where_it_can() -> None:
    bounds = {"min": 1e-13, "max": 1e-9}
    base = machines.get("jaketown").parameters["energy_per_flop"]
    assert decided("machine.energy_per_flop", bounds).base == base
    found = decided("machine.memory_power_per_word", bounds, machine="jaketown")
    assert (found.minimum, found.maximum) == (1e-13, 1e-9)
    assert decided("machine.memory_capacity", {"min": 10, "max": 100}).base is None


def test_halvings_can_be_minimised_and_limited() -> None:
    decide = {"processors": {}, "memory": {}, "machine.energy_per_flop": {"max_halvings": 9}}
    asked = ask(decide=decide, objective={"minimize": HALVINGS.name}, limits={"halvings": {"max": 5}})
    assert asked.objectives == (Objective("halvings"),)
    assert asked.limits == (Limit("halvings", None, 5.0),)


def test_limits_in_si_and_vacuous_ones_open() -> None:
    asked = ask(
        limits={"efficiency": {"min": "2 GFLOPS/W"}, "time": {"min": 0, "max": "50 ms"}, "memory": {"max": 9}}
    )
    assert asked.limits == (
        Limit("efficiency", 2e9, None),
        Limit("time", None, 0.05),
        Limit("memory", None, 9.0),
    )


def test_a_decided_quantity_can_be_the_objective() -> None:
    assert ask(objective={"minimize": "memory"}).objectives == (Objective("memory"),)
    assert ask(objective={"maximize": ["performance", "efficiency"]}).objectives == (
        Objective("performance", maximize=True),
        Objective("efficiency", maximize=True),
    )


def test_choices_and_defaults_of_a_model() -> None:
    fft = {"model": "fft", "machine": "jaketown", "given": {"points": 1024}, "decide": {"processors": {}}}
    assert question(load(fft)).given["all_to_all"] == "tree"
    both = question(load(fft | {"decide": {"processors": {}, "all_to_all": {}}}))
    assert both.decide[1] == Decision("all_to_all", choices=("tree", "naive"))
    one = question(load(fft | {"decide": {"processors": {}, "all_to_all": {"values": ["naive"]}}}))
    assert one.decide[1].choices == ("naive",)
    assert "all_to_all" not in one.given
    twice = {"processors": {}, "all_to_all": {"values": ["tree", "naive", "tree"]}}
    with pytest.raises(ScenarioError, match="tree stands in the list more than once"):
        load(fft | {"decide": twice})


def test_a_choice_among_whole_machines() -> None:
    decide = {"machine": {"values": ["jaketown", "balanced"]}, "processors": {}, "memory": {}}
    asked = question(load({k: v for k, v in NBODY.items() if k != "machine"} | {"decide": decide}))
    assert asked.decide[0] == Decision("machine", choices=("jaketown", "balanced"))
    own = machines.get("balanced").parameters["energy_per_flop"]
    assert asked.machines["balanced"]["machine.energy_per_flop"] == own
    assert not any(n.startswith("machine.") for n in asked.given)
    decide["machine"] = {"values": ["jaketown", "balanced", "jaketown"]}
    with pytest.raises(ScenarioError, match="jaketown stands in the list more than once") as refused:
        question(load({k: v for k, v in NBODY.items() if k != "machine"} | {"decide": decide}))
    assert len(refused.value.problems) == 1


@pytest.mark.parametrize("model", models.names())
def test_a_template_can_be_asked_as_it_stands(model: str, tmp_path: Any) -> None:
    path = tmp_path / "new.toml"
    path.write_text(template(model), encoding="utf-8")
    asked = question(load(path))
    assert asked.model.name == model
    assert asked.objectives
    assert asked.decide


COMMENTED = re.compile(r"^# (\w+ = \{ (?:min|max) = .*)$", re.MULTILINE)


@pytest.mark.parametrize("model", models.names())
def test_every_commented_limit_of_a_template_may_be_uncommented(model: str) -> None:
    """The starter's own answer keeps each of them, and lies where its model was derived."""
    text = template(model)
    answer = dse.solve(from_text(text))
    assert answer.status == "optimal"
    assert not answer.outside
    commented = COMMENTED.findall(text)
    assert commented
    for line in commented:
        asked = question(from_text(text.replace("[limits]", f"[limits]\n{line}")))
        (limit,) = [x for x in asked.limits if x.name == line.split()[0]]
        value = answer.metrics[limit.name]
        assert (limit.minimum or 0) <= value <= (limit.maximum or math.inf), line


@pytest.mark.parametrize("model", models.names())
def test_the_halving_of_a_template_may_be_uncommented(model: str) -> None:
    """It names a parameter that the model and its machines have; a model without such a one has no such line."""
    text = template(model)
    line = re.search(r'^# ("machine\.\w+" = \{ max_halvings = 10 \})$', text, re.MULTILINE)
    if line is None:
        return
    bought = re.sub(r"^machine = \{ values = \[(.*?),.*$", "", text, count=1, flags=re.MULTILINE)
    first = re.search(r"^machine = \{ values = \[(.*?),", text, re.MULTILINE)
    text = text if first is None else bought.replace("[given]", f"machine = {first[1]}\n\n[given]", 1)
    assert question(from_text(text.replace("[decide]", f"[decide]\n{line[1]}", 1))).decide


@pytest.mark.parametrize("model", ["transformer_training", "transformer_inference"])
def test_starters_about_decoders_are_worth_asking(model: str) -> None:
    """A public decoder in two bytes a number, a plan of several parts that a limit holds, and a next best."""
    text = template(model)
    answer = dse.solve(from_text(text))
    assert answer.status == "optimal"
    assert answer.next_best is not None
    assert len(answer.variables) >= 4
    assert 6e9 < answer.metrics["parameters"] < 8e10
    assert any(x.binding for x in answer.limits.values())
    chosen = answer.variables.get("machine") or tomllib.loads(text)["machine"]
    assert machines.get(str(chosen)).parameters["word_size"] == 2


PRICED = re.compile(
    r"^# ((?:electricity_price|grid|lifetime|utilisation|power_usage_effectiveness) = .*)$", re.MULTILINE
)


@pytest.mark.parametrize("model", ["nbody", "fft", "lu"])
def test_what_a_template_says_of_cost_and_ties_may_be_uncommented(model: str) -> None:
    text = template(model)
    assert len(PRICED.findall(text)) == 5
    text = (
        PRICED.sub(r"\1", text).replace("# ties", "ties").replace('minimize = "energy"', 'minimize = "cost"')
    )
    bought = 'machine = { base = "balanced", purchase_price = "2000 USD", embodied_carbon = "20 kg" }'
    asked = question(from_text(text.replace('machine = "balanced"', bought) + "carbon = { max = 1e9 }\n"))
    assert {"cost", "carbon"} <= {q.name for q in asked.model.metrics}
    assert asked.ties


@pytest.mark.parametrize("model", models.names())
def test_the_axis_of_a_template_may_be_uncommented(model: str) -> None:
    """One path, or several that change together."""
    text, _, axis = template(model).partition("# [sweep.")
    lines = [line.removeprefix("# ").partition("  #")[0] for line in f"# [sweep.{axis}".splitlines()]
    if not axis:
        return
    head, path = lines[0], [x for x in lines if x.startswith(("path ", "start", "stop", "num", "spacing"))]
    together = [x for x in lines if x.startswith("paths ")]
    name = path[0].rpartition("limits.")[2].partition(".")[0]
    bounded = text if re.search(rf"^{name} = ", text, re.MULTILINE) else f"{text}\n{name} = {{ max = 1e9 }}\n"
    for chosen in (path, together):
        assert len(scenarios.grid(from_text("\n".join([bounded, head, *chosen]))).axes) == 1


@pytest.mark.parametrize("model", ["matmul_two_level", "nbody_two_level"])
def test_a_two_level_template_stays_in_the_range_of_its_theory(model: str) -> None:
    """Nodes hold the data at least once, and no level replicates more than saves words."""
    limits = {x.name: (x.minimum, x.maximum) for x in question(from_text(template(model))).limits}
    assert limits == {
        "node_copies": (1.0, None),
        "node_replication": (None, 1.0),
        "core_replication": (None, 1.0),
    }


def test_an_unknown_model_has_no_template() -> None:
    with pytest.raises(models.UnknownName, match="did you mean 'nbody'"):
        template("nbdy")


def test_the_schema_describes_every_key() -> None:
    schema = json_schema()
    assert set(schema["properties"]) == set(Scenario.model_fields)
    assert schema["additionalProperties"] is False
    assert schema["anyOf"] == [{"required": ["model"]}, {"required": ["kernels"]}]
    for part in (schema, *schema["$defs"].values()):
        assert all("description" in entry for entry in part["properties"].values())

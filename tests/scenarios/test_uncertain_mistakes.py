"""[uncertain]: each mistake is told with its place and its repair."""

from __future__ import annotations

from typing import Any

import pytest
from uncertain_questions import BODIES, asked

import scenarios
from scenarios import ScenarioError, questions

WRONG = [
    (asked({"processors": {"uniform": [1, 2]}}), "uncertain.processors", "is decided", "take it out"),
    (
        asked({"bodies": BODIES}, sweep={"n": {"path": "bodies", "values": [1e5, 1e6]}}),
        "uncertain.bodies",
        "is swept",
        "take it out",
    ),
    (asked({"bodie": BODIES}), "uncertain.bodie", "there is no input", "did you mean 'bodies'"),
    (asked({"time": BODIES}), "uncertain.time", "is a metric", "limit it"),
    (
        asked({"bodies": BODIES}, define={"bodies": "1e3 * own"}, given={"flops_per_pair": 20, "own": 1e3}),
        "uncertain.bodies",
        "is defined by an expression",
        "that the definition uses",
    ),
    (asked({"bodies": {}}), "uncertain.bodies", "there is no distribution", "write { normal"),
    (asked({"bodies": {**BODIES, "normal": [1e6, 1]}}), "uncertain.bodies", "exclude each other", "keep one"),
    (
        asked({"bodies": {"norml": [1e6, 1]}}),
        "uncertain.bodies.norml",
        "unknown key",
        "did you mean 'normal'",
    ),
    (asked({"bodies": 1e6}), "uncertain.bodies", "is not a table", "write a table"),
    (
        asked({"bodies": {"uniform": [1e6]}}),
        "uncertain.bodies.uniform",
        "2 numbers, not 1",
        "[least, greatest]",
    ),
    (asked({"bodies": {"uniform": [2e6, 1e6]}}), "uncertain.bodies.uniform", "is not below", "[least"),
    (asked({"bodies": {"normal": [1e6, 0]}}), "uncertain.bodies.normal", "is not above 0", "deviation"),
    (asked({"bodies": {"lognormal": [1e6, 1]}}), "uncertain.bodies.lognormal", "is not above 1", "median"),
    (asked({"bodies": {"lognormal": [-1e6, 2]}}), "uncertain.bodies.lognormal", "is not above 0", "median"),
    (asked({"bodies": {"loguniform": [0, 1e6]}}), "uncertain.bodies.loguniform", "is not above 0", "least"),
    (asked({"bodies": {"triangular": [1, 9, 5]}}), "uncertain.bodies.triangular", "not between", "probable"),
    (asked({"bodies": {"beta": [0, 1, 1, 2]}}), "uncertain.bodies.beta", "not both above 0", "shape"),
    (
        asked({"bodies": {"triangular": ["1 s", "2 s", "3 s"]}}),
        "uncertain.bodies.triangular[0]",
        "a plain number is needed (2 more numbers here have this unit)",
        "write",
    ),
    (
        asked({"machine.time_per_flop": {"beta": [2, 3, "1 W", "2 W"]}}),
        "uncertain.machine.time_per_flop.beta[2]",
        "(1 more number here has this unit)",
        "ps/flop",
    ),
    (
        asked({"bodies": {"values": ["1 s", "2 s"]}}),
        "uncertain.bodies.values[0]",
        "(1 more number here has this unit)",
        "write",
    ),
    (asked({"bodies": {"values": []}}), "uncertain.bodies.values", "no value", "at least one"),
    (
        asked({"bodies": {"values": [1e5, 1e6], "weights": [1]}}),
        "uncertain.bodies.weights",
        "2 values have 1 weights",
        "each value",
    ),
    (
        asked({"bodies": {"values": [1e5, 1e6], "weights": [1, -1]}}),
        "uncertain.bodies.weights",
        "not negative",
        "weights = [3, 1]",
    ),
    (
        asked({"bodies": {**BODIES, "weights": [1]}}),
        "uncertain.bodies.weights",
        "stands beside values only",
        "leave",
    ),
    (
        asked({"machine.time_per_flop": {"normal": ["2.5 ps/flop", "0.1 pJ/flop"]}}),
        "uncertain.machine.time_per_flop.normal[1]",
        "energy per flop",
        "write",
    ),
    (
        asked({"bodies": {"normal": [1e6, 1e6]}}),
        "uncertain.bodies",
        "15.9 % of the distribution",
        "at most 1e-06",
    ),
    (
        asked({"machine.word_size": {"uniform": [4, 8]}}),
        "uncertain.machine.word_size",
        "size of a word",
        "leave",
    ),
    (
        asked({"bodies": {"table": "none.csv"}}),
        "uncertain.bodies.column",
        "column is missing",
        "write column",
    ),
    (
        asked({"bodies": {"table": "none.csv", "column": "n"}}),
        "uncertain.bodies.table",
        "cannot be read",
        "path of a CSV file",
    ),
    (asked({"bodies": {"from": "nowhere"}}), "uncertain.bodies.from", "is not a source", '"machine"'),
    (asked({"*": {"from": "machine"}}), "uncertain.*", "taken all together", "machine.*"),
    (
        asked({"bodies": BODIES, "sampling": {"method": "sobl"}}),
        "uncertain.sampling.method",
        "is not a sampling method",
        "sobol",
    ),
    (
        asked({"bodies": BODIES, "sampling": {"samples": 0}}),
        "uncertain.sampling.samples",
        "not possible",
        "1 to",
    ),
    (
        asked({"bodies": BODIES, "sampling": {"seeds": 0}}),
        "uncertain.sampling.seeds",
        "unknown key",
        "'seed'",
    ),
    (asked({"sampling": {}}), "uncertain", "nothing is uncertain", "[uncertain] bodies"),
    (
        asked({"bodies": BODIES, "sampling": {"correlation": [["bodies", "flops_per_pair", 0.5]]}}),
        "uncertain.sampling.correlation[0]",
        "is not uncertain",
        "there are: bodies",
    ),
    (
        asked(
            {
                "bodies": BODIES,
                "flops_per_pair": {"uniform": [10, 20]},
                "sampling": {"correlation": [["bodies", "flops_per_pair", 1]]},
            }
        ),
        "uncertain.sampling.correlation",
        "not positive definite",
        "nearer to 0",
    ),
    (
        asked({"bodies": BODIES, "sampling": {"correlation": [["bodies", "flops_per_pair", 2]]}}),
        "uncertain.sampling.correlation",
        "from -1 to 1",
        "write [[",
    ),
    (
        asked(
            {
                "bodies": BODIES,
                "flops_per_pair": {"uniform": [10, 20]},
                "sampling": {"correlation": [["bodies", "flops_per_pair", 0.5]]},
            },
            objective__measure="worst",
        ),
        "uncertain.sampling.correlation",
        "cannot use a correlation",
        "leave the correlation out",
    ),
    (asked(objective__measure="mean"), "objective.measure", "nothing is uncertain", "[uncertain]"),
    (asked(objective__cvar=0.9), "objective.cvar", "nothing is uncertain", "[uncertain]"),
    (
        asked(limits={"time": {"max": "10 s", "probability": 0.95}}),
        "limits.time.probability",
        "nothing is uncertain",
        "[uncertain]",
    ),
    (asked(limits={"time": {"max": "10 s", "worst": True}}), "limits.time.worst", "nothing is uncertain", ""),
    (
        asked({"bodies": BODIES}, objective={"minimize": "energy", "measure": "mean", "cvar": 0.9}),
        "objective",
        "measure and cvar exclude each other",
        "keep",
    ),
    (
        asked({"bodies": BODIES}, objective__measure="median"),
        "objective.measure",
        "is not a measure",
        '"worst"',
    ),
    (
        asked({"bodies": BODIES}, objective__quantile=1.5),
        "objective.quantile",
        "is not a probability",
        "0.95",
    ),
    (
        asked({"bodies": BODIES}, limits={"time": {"max": 10, "probability": 0.9, "worst": True}}),
        "limits.time",
        "exclude each other",
        "keep one",
    ),
    (
        asked({"bodies": BODIES}, limits={"time": {"max": 10, "confidence": 0.9}}),
        "limits.time.confidence",
        "needs a probability",
        "beside it",
    ),
    (
        asked({"bodies": BODIES}, limits={"memory": {"max": 1e6, "probability": 0.9}}),
        "limits.memory",
        "decided before the uncertain",
        "leave",
    ),
    (
        asked(
            {"bodies": BODIES},
            limits={"time": {"max": 10}, "joint": {"of": ["time", "power"], "probability": 0.9}},
        ),
        "limits.joint.of",
        "power is not limited",
        "power = { max",
    ),
    (
        asked({"bodies": BODIES}, limits={"time": {"max": 10}, "joint": {"of": [], "probability": 0.9}}),
        "limits.joint.of",
        "the list is empty",
        'of = ["time"]',
    ),
    (
        asked(
            {"bodies": BODIES},
            limits={"time": {"max": 10}, "joint": {"of": ["time", "time"], "probability": 0.9}},
        ),
        "limits.joint.of",
        "a name is listed twice",
        "every name once",
    ),
    (
        asked({"bodies": BODIES}, limits={"time": {"max": 10}, "joint": {"of": ["time"]}}),
        "limits.joint",
        "no probability",
        "0.95",
    ),
    (
        asked({"bodies": BODIES}, limits={"time": {"max": 10, "of": ["time"], "probability": 0.9}}),
        "limits.time.of",
        "only the joint limit",
        "limits.joint",
    ),
    # the tail of a binomial: with one or two quantities decided the best of N samples, C&G 2008
    (
        asked(
            {"bodies": BODIES, "sampling": {"samples": 64}}, limits={"time": {"max": 10, "probability": 0.95}}
        ),
        "limits.time.probability",
        "64 samples cannot show",
        "samples = 130",
    ),
    (
        asked(
            {"bodies": BODIES, "sampling": {"samples": 64, "method": "sobol"}},
            limits={"time": {"max": 10, "probability": 0.9, "confidence": 0.5}},
        ),
        "uncertain.sampling.method",
        "independent samples",
        '"random"',
    ),
    (
        asked({"bodies": BODIES}, sweep={"sample": {"path": "flops_per_pair", "values": [1, 2]}}),
        "sweep.sample",
        "the dimension of samples",
        "another name",
    ),
]


@pytest.mark.parametrize(
    ("data", "key", "wrong", "right"), WRONG, ids=lambda x: x if isinstance(x, str) else ""
)
def test_a_mistake_is_told_with_its_place_and_repair(
    data: dict[str, Any], key: str, wrong: str, right: str
) -> None:
    with pytest.raises(scenarios.ScenarioError) as caught:
        scenarios.load(data)
    found = [p for p in caught.value.problems if p.key == key]
    assert found, caught.value
    assert wrong in found[0].wrong, found
    assert right in found[0].right, found


def test_the_example_is_a_number_of_this_question() -> None:
    """A question without bodies was told to make bodies uncertain."""
    data = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"intensity": 4, "flops": "1 Tflop"},
        "decide": {"throttle": {"max": 3}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": "10 s", "probability": 0.9}},
    }
    with pytest.raises(ScenarioError) as refusal:
        questions.question(scenarios.load(data))
    (said,) = refusal.value.problems
    assert '[uncertain] flops = { uniform = ["800 Gflop", "1.2 Tflop"] }' in said.right
    data["uncertain"] = {"flops": {"uniform": ["800 Gflop", "1.2 Tflop"]}}
    assert questions.question(scenarios.load(data)).uncertain is not None

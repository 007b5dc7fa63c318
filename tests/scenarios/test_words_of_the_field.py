"""Other words that the field uses for our quantities are answered with ours."""

import pytest

import dse
from scenarios import ScenarioError

ASKED = {
    "model": "matmul",
    "machine": "balanced",
    "given": {"order": 1000},
    "decide": {"processors": {}, "memory": {}},
    "objective": {"minimize": "energy"},
}


@pytest.mark.parametrize(
    ("key", "wrong", "meant"),
    [
        ("given", {"matrix_size": 1000}, "order"),
        ("given", {"n": 1000}, "order"),
        ("decide", {"cores": {}, "memory": {}}, "processors"),
        ("objective", {"minimize": "EDP"}, "energy_delay"),
        ("limits", {"GFLOPS": {"min": "1 GFLOPS"}}, "performance"),
        ("limits", {"latency": {"max": "1 s"}}, "time"),
        ("sweep", {"x": {"path": "given.order", "from": 1, "stop": 2, "num": 3}}, "start"),
        ("sweep", {"x": {"path": "given.order", "start": 1, "to": 2, "num": 3}}, "stop"),
        ("sweep", {"x": {"path": "given.order", "start": 1, "stop": 2, "count": 3}}, "num"),
        ("sweep", {"x": {"path": "given.order", "start": 1, "stop": 2, "num": 3, "scale": "log"}}, "spacing"),
        ("limits", {"TCO": {"max": "1 USD"}}, "cost"),
    ],
)
def test_the_name_that_was_meant_is_suggested(key: str, wrong: dict[str, object], meant: str):
    with pytest.raises(ScenarioError, match=f"did you mean '{meant}'"):
        dse.load(ASKED | {key: wrong})


@pytest.mark.parametrize(
    ("key", "wrong", "meant"),
    [
        ("given", {"generated": 300}, "output"),
        ("given", {"d_model": 8192}, "hidden"),
        ("decide", {"tp": {}}, "tensor_parallel"),
        ("objective", {"maximize": "throughput"}, "tokens_per_second"),
        ("limits", {"TTFT": {"max": "1 s"}}, "time_to_first_token"),
    ],
)
def test_words_of_serving_are_known(key: str, wrong: dict[str, object], meant: str):
    asked = {"model": "transformer_inference", "machine": "h100-sxm-bf16", key: wrong}
    with pytest.raises(ScenarioError, match=rf"did you mean [^?]*'{meant}'"):
        dse.load(asked)

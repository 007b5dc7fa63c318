"""The same random examples in every run, however slow the machine; ``--hypothesis-profile=explore`` draws others."""

import gc
import os
import sys

import pytest
from hypothesis import HealthCheck, settings

# an exception that nobody expected is an error here, in helper processes too (see ``formulations.handover``)
os.environ["DSE_STRICT"] = "1"

# hundreds of processes are started, and each would compile all modules anew; so would each process of pytest-xdist
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# neither how long an example takes nor how long it takes to draw it says anything of the code
UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, database=None, **UNHURRIED)
settings.register_profile("explore", **UNHURRIED)
settings.load_profile("same")


def pytest_collection_finish() -> None:
    """Keep the collected tests and the imported modules from being gone through with every collection of garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def models_of_a_test_are_gone_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what a test registers from the tests that go through all models, whatever the order."""
    from dse.models import registry

    monkeypatch.setattr(registry, "_registered", dict(registry._registered))

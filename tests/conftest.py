"""The same random examples in every run, however slow the machine; ``--hypothesis-profile=explore`` draws others."""

import os

import pytest
from hypothesis import HealthCheck, settings

# an exception that nobody expected is an error here, in helper processes too (see ``formulations.handover``)
os.environ["DSE_STRICT"] = "1"

# neither how long an example takes nor how long it takes to draw it says anything of the code
UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, database=None, **UNHURRIED)
settings.register_profile("explore", **UNHURRIED)
settings.load_profile("same")


@pytest.fixture(autouse=True)
def models_of_a_test_are_gone_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what a test registers from the tests that go through all models, whatever the order."""
    from dse.models import registry

    monkeypatch.setattr(registry, "_registered", dict(registry._registered))

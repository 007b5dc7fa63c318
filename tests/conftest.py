"""The same random examples in every run, however slow the machine; ``--hypothesis-profile=explore`` draws others."""

from hypothesis import HealthCheck, settings

# neither how long an example takes nor how long it takes to draw it says anything of the code
UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, database=None, **UNHURRIED)
settings.register_profile("explore", **UNHURRIED)
settings.load_profile("same")

"""Our own models keep the contract that packages are asked to keep."""

import pytest

from dse import models
from dse.testing import ModelContract

# computed by way of a division by zero, which Pyomo has no number for
BY_INFINITY = frozenset({"balance_low", "balance_high"})
PLAIN = [n for n in models.built_in_names() if models.get(n).structure is None]


@pytest.mark.parametrize("name", PLAIN)
def test_our_own_models_keep_the_contract(name: str):
    class OfThis(ModelContract):
        model = name
        not_symbolic = BY_INFINITY
        numbers = frozenset({"exponent"})
        # its formulas are long: two layers of a dozen operators in every metric
        tries = 1 if name == "transformer_inference" else 5

    for promise in (m for m in dir(OfThis) if m.startswith("test_")):
        getattr(OfThis(), promise)()

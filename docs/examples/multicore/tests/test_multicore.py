"""The model keeps dse's contract; run with ``pytest`` where the package is installed."""

from dse.testing import ModelContract


class TestMulticore(ModelContract):
    """Everything that dse promises of a model, tried on this one."""

    model = "multicore"

"""A question that decides nothing: metrics of an n-body step over a grid of processors and memory."""


def evaluated(processors: int, memory: int) -> str:
    """The scenario, with so many values along each axis."""
    return f"""
model   = "nbody"
machine = "balanced"

[given]
bodies         = 1e5
flops_per_pair = 10

[sweep.processors]
path = "given.processors"
start = 10
stop = 1e4
num = {processors}
spacing = "log"

[sweep.memory]
path = "given.memory"
start = 10
stop = 1e4
num = {memory}
spacing = "log"
"""

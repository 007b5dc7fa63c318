"""Co-design questions about machines and algorithms, answered with certificates.

``dse.solve(dse.load("scenario.toml"))`` is the whole way; everything is imported when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes a while to import
if TYPE_CHECKING:
    from typing import Any

    from dse import machines as machines
    from dse import models as models
    from dse.api import compare as compare
    from dse.api import diff as diff
    from dse.api import evaluate as evaluate
    from dse.api import export as export
    from dse.api import front as front
    from dse.api import load as load
    from dse.api import open as open
    from dse.api import pyomo as pyomo
    from dse.api import read as read
    from dse.api import register as register
    from dse.api import report as report
    from dse.api import solve as solve
    from dse.api import status as status
    from dse.api import sweep as sweep
    from dse.api import uncertainty as uncertainty
    from dse.api import verify as verify
    from dse.api import what_matters as what_matters
    from dse.fitting import fit as fit
    from dse.fitting import fit_behaviour as fit_behaviour
    from scenarios import Scenario as Scenario

    __version__: str

_WHERE = {
    "Scenario": "scenarios:Scenario",
    "__version__": "dse.version:VERSION",
    "compare": "dse.api:compare",
    "diff": "dse.api:diff",
    "evaluate": "dse.api:evaluate",
    "export": "dse.api:export",
    "fit": "dse.fitting:fit",
    "fit_behaviour": "dse.fitting:fit_behaviour",
    "front": "dse.api:front",
    "load": "dse.api:load",
    "machines": "dse.machines:",
    "models": "dse.models:",
    "open": "dse.api:open",
    "pyomo": "dse.api:pyomo",
    "read": "dse.api:read",
    "register": "dse.api:register",
    "report": "dse.api:report",
    "solve": "dse.api:solve",
    "status": "dse.api:status",
    "sweep": "dse.api:sweep",
    "uncertainty": "dse.api:uncertainty",
    "verify": "dse.api:verify",
    "what_matters": "dse.api:what_matters",
}

__all__ = tuple(_WHERE)


def __getattr__(name: str) -> Any:
    """Import what is asked for, and keep it."""
    if name not in _WHERE:
        raise AttributeError(f"module 'dse' has no attribute {name!r}; it has {', '.join(sorted(_WHERE))}")
    from importlib import import_module

    module, _, attribute = _WHERE[name].partition(":")
    found = import_module(module)
    return globals().setdefault(name, getattr(found, attribute) if attribute else found)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})

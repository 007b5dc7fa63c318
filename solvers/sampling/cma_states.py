"""CMA-ES of Optuna, whose state is kept in a study as numbers.

Optuna keeps it as a pickle, and unpickles what the study says (``CmaEsSampler._restore_optimizer``): whoever can write
to the file or the database would run code in every process that continues the study.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import cmaes
import numpy as np
import optuna

from solvers.sampling.trials import UnreadableState

KEY = "cma:numbers"
ARRAY, SHAPE = "array", "shape"


class CmaEs(optuna.samplers.CmaEsSampler):  # type: ignore[misc]
    """The sampler of Optuna, but for how it keeps its state."""

    @property
    def _attr_key_optimizer(self) -> str:
        # pickles that another program left under Optuna's own name are not looked at
        return KEY

    def _split_optimizer_str(self, optimizer_str: str) -> dict[str, str]:
        # it was pickled by the line before this call, in this process
        state = pickle.loads(bytes.fromhex(optimizer_str)).__getstate__()
        found: dict[str, str] = super()._split_optimizer_str(json.dumps(state, default=_json_value))
        return found

    def _restore_optimizer(self, completed_trials: Sequence[optuna.trial.FrozenTrial]) -> cmaes.CMA | None:
        for trial in reversed(completed_trials):
            parts = {key: value for key, value in trial.system_attrs.items() if key.startswith(KEY)}
            if parts:
                return _restored(self._concat_optimizer_attrs, parts, trial.number)
        return None


def _json_value(value: Any) -> Any:
    """Return arrays, and numbers of NumPy, as values that JSON has."""
    if isinstance(value, np.ndarray):
        return {ARRAY: value.ravel().tolist(), SHAPE: list(value.shape)}
    return value.item()


def _read_value(value: Mapping[str, Any]) -> Any:
    return np.array(value[ARRAY], dtype=float).reshape(value[SHAPE]) if ARRAY in value else dict(value)


def _restored(joined: Any, parts: Mapping[str, str], trial: int) -> cmaes.CMA:
    made = cmaes.CMA.__new__(cmaes.CMA)
    fresh = set(cmaes.CMA(mean=np.zeros(2), sigma=1.0).__getstate__())
    try:
        state = json.loads(joined(parts), object_hook=_read_value)
        if set(state) != fresh:
            raise UnreadableState("other names")
        made.__setstate__(state)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        text = f"trial {trial} keeps no state of CMA-ES of this version ({type(problem).__name__}: {problem})"
        raise UnreadableState(text) from problem
    return made

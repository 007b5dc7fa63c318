"""The first trials of a search that several processes may share: by this process, until they are seen to be slow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import optuna

State = optuna.trial.TrialState
LOOK_EVERY = 0.1


class FirstTrials:
    """Trials of a study in memory, made by the main thread, as a model may need it, and watched by another.

    They are slow once they have taken ``timed`` s, and ``shared`` s each on average, the one under way included.
    """

    def __init__(self, study: optuna.Study, trials: int, timed: float, shared: float) -> None:
        self.study, self.trials = study, trials
        self._timed, self._shared = timed, shared
        self._times = list[float]()
        self._begun: float | None = None
        self._lock = threading.Lock()
        self._slow = False
        self._over, self._stopped = threading.Event(), threading.Event()
        self._lent: list[int] | None = None

    def run(self, evaluate: Callable[[optuna.Trial], Any]) -> None:
        """Try designs until there are enough, or trials are slow."""
        try:
            for _ in range(self.trials):
                with self._lock:
                    if self._look():
                        break
                    trial = self.study.ask()
                    self._begun = time.perf_counter()
                found = evaluate(trial)
                with self._lock:
                    self._times.append(time.perf_counter() - self._begun)
                    self._begun = None
                    self.study.tell(trial, found)
        finally:
            self._over.set()

    def stop(self) -> None:
        """Let whoever shares the trials give up."""
        self._stopped.set()

    def are_slow(self) -> bool:
        """Wait until trials are seen to be slow, or all are done; tell which."""
        while not self._over.wait(LOOK_EVERY):
            with self._lock:
                if self._look():
                    break
        return self._slow

    def _look(self) -> bool:
        spent, many = sum(self._times), len(self._times)
        if self._begun is not None:
            spent, many = spent + time.perf_counter() - self._begun, many + 1
        slow = spent >= max(self._timed, self._shared * many)
        # the last trial is nobody else's
        self._slow = self._slow or (slow and many < self.trials)
        return self._slow

    def lend(self, to: optuna.Study) -> None:
        """Let a new study begin with these trials, among which the one under way counts as running."""
        with self._lock:
            mine = self.study.get_trials()
        to.add_trials(mine)
        self._lent = [t.number for t in mine if t.state is State.RUNNING]

    def give(self, to: optuna.Study) -> None:
        """Give the trial that was under way, once it is done, to the study; raises InterruptedError if stopped."""
        if self._stopped.is_set():
            raise InterruptedError
        if self._lent and self._over.is_set():
            for number in self._lent:
                # first: others must not count one trial too few
                to.add_trial(self.study.get_trials()[number])
                to.tell(number, state=State.FAIL)
            self._lent = []

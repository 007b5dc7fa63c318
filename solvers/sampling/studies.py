"""Trials that are kept: a study in a database, continued where it exists, shared by several processes."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna

from dse.models.shared.validity import is_within
from dse.system.progress import Report, reporting
from dse.version import VERSION
from results.stores import identities
from scenarios.question import Question, Search
from solvers.sampling import sampler
from solvers.sampling.databases import PACE, Pace, StudyError, connected, heard_of, why
from solvers.sampling.first_trials import FirstTrials
from solvers.sampling.sampler import Found, Tried
from solvers.sampling.trials import Designs, UnreadableState, score

QUESTION, MADE_BY, SCENARIO, TITLE = "dse:question", "dse:version", "dse:scenario", "dse:title"
SEARCHED_BY, CONTINUED, BEST = "dse:searched by", "dse:continued after", "dse:best"
NO_DESIGN = "its best design is none of this question"
SHARED_SECONDS, TIMED_SECONDS = 0.05, 1.0
"""What it takes to share a trial among processes in a file, and for how long trials are timed before they are."""
AGAIN_SECONDS = 1.0
"""For how long the trials of a study are evaluated again before it is continued; at least two are."""
GOALS_AGREE = 1e-9
LOOK_EVERY = 0.1
State = optuna.trial.TrialState


def search(question: Question, asked: Search) -> Found:
    """Try designs of a question: in memory, or where trials are to be kept, by as many processes as asked.

    Raises StudyError where the study cannot be opened, or belongs to another question.
    """
    if not asked.storage and asked.workers == 1:
        return sampler.search(question, asked)
    designs = Designs(question)
    if designs.empty:
        return Found(asked, empty=True)
    with sampler.quiet():
        return _continued_study(designs, asked) if asked.storage else _unkept_study(designs, asked)


def _unkept_study(designs: Designs, asked: Search) -> Found:
    """Search by this process alone, and by several from when trials are seen to take long enough to be shared."""
    alone = replace(asked, workers=1)
    study = optuna.create_study(
        directions=sampler.directions(designs.question), sampler=sampler.made(alone, 0, 0)
    )
    first = FirstTrials(study, asked.trials, TIMED_SECONDS, SHARED_SECONDS)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as helper:
        shared = replace(asked, storage=str(Path(folder) / "study.db"))
        sharing = helper.submit(_shared_study, designs, shared, first)
        try:
            first.run(sampler.objective(designs, alone))
            opened_study = sharing.result()
        except BaseException:
            first.stop()
            raise
        if opened_study is None:
            return replace(sampler.read(designs, alone, study), idle=asked.workers)
        with _closing(shared, opened_study[1]):
            return replace(_read(designs, shared, *opened_study), search=asked)


def _shared_study(
    designs: Designs, asked: Search, first: FirstTrials
) -> tuple[optuna.Study, optuna.storages.RDBStorage] | None:
    """Let several processes go on where the first trials are slow, while the last of these may be under way."""
    if not first.are_slow():
        return None
    with reporting(None, "trial") as report:
        study, storage = opened(designs, asked)

        def is_done() -> bool:
            first.give(study)
            return _is_done(study, asked, report)

        with contextlib.ExitStack() as unless_shared:
            unless_shared.enter_context(_closing(asked, storage))
            first.lend(study)
            _run_workers(designs, asked, is_done)
            unless_shared.pop_all()
        return study, storage


def _continued_study(designs: Designs, asked: Search) -> Found:
    """Search in a database."""
    with reporting(None, "trial") as report:
        study, storage = opened(designs, asked)
        with _closing(asked, storage):
            if (before := finished(study)) < asked.trials:
                _note(study, SEARCHED_BY, sampler.by(asked))
                if before:
                    _note(study, CONTINUED, before)

            def is_done() -> bool:
                return _is_done(study, asked, report)

            if asked.workers > 1:
                _run_workers(designs, asked, is_done)
            else:
                study.sampler = sampler.made(asked, 0, len(study.get_trials(deepcopy=False)))
                work(study, sampler.objective(designs, asked), asked.trials, is_done=is_done)
            return _read(designs, asked, study, storage)


def _is_done(study: optuna.Study, asked: Search, report: Report) -> bool:
    report(min(done := finished(study), asked.trials), asked.trials)
    return done >= asked.trials


def _run_workers(designs: Designs, asked: Search, is_done: Callable[[], bool]) -> None:
    from solvers.sampling import study_workers

    study_workers.run(designs.question, asked, is_done)


@contextlib.contextmanager
def _closing(asked: Search, storage: optuna.storages.RDBStorage) -> Iterator[None]:
    try:
        yield
    except UnreadableState as problem:
        raise StudyError(f"{asked.storage}: the study {asked.study!r}: {problem}") from problem
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _read(designs: Designs, asked: Search, study: optuna.Study, storage: optuna.storages.RDBStorage) -> Found:
    """Return what a study has found that is done."""
    _end_unfinished(study, storage)
    found = sampler.read(designs, asked, study)
    return replace(
        found,
        others=tuple(t for t in study.user_attrs.get(SEARCHED_BY, ()) if t != sampler.by(asked)),
        continued=tuple(study.user_attrs.get(CONTINUED, ())),
        best=_best_kept(study, designs, found),
    )


def _note(study: optuna.Study, name: str, entry: str | int) -> None:
    """Add an entry to a list that a study keeps, unless it is there."""
    if entry not in (there := list(study.user_attrs.get(name, []))):
        study.set_user_attr(name, [*there, entry])


def _best_kept(study: optuna.Study, designs: Designs, found: Found) -> Tried | None:
    """Return the best that local searches have made of a study, in this command or before, and keep it there.

    What they begin with changes with each trial, so that without it more trials might give a worse answer.
    """
    if len(designs.question.objectives) > 1:
        return None
    best = sampler.polished(designs.question, found)
    if kept := study.user_attrs.get(BEST):
        try:
            design = designs.of_values(kept)
        except (KeyError, TypeError, ValueError) as problem:
            raise UnreadableState(NO_DESIGN) from problem
        if not designs.is_allowed(design):
            raise UnreadableState(NO_DESIGN)
        before = Tried(design, score(design))
        if best is None or sampler.rank(before) < sampler.rank(best):
            return before
    if best is not None and best.score.violation <= 0 and not designs.question.model.black_box:
        study.set_user_attr(BEST, {**best.design.chosen, **best.design.x})
    return best


def opened(designs: Designs, asked: Search) -> tuple[optuna.Study, optuna.storages.RDBStorage]:
    """Open the study of a question, or begin it; raises StudyError where it holds another question's trials."""
    storage = connected(asked.storage)
    try:
        study = optuna.create_study(
            study_name=asked.study,
            storage=storage,
            directions=sampler.directions(designs.question),
            load_if_exists=True,
        )
        _mark_study(study, designs, asked)
    except (optuna.exceptions.OptunaError, ValueError) as problem:
        raise StudyError(f"{asked.storage}: {why(problem)}") from problem
    return study, storage


def loaded(asked: Search, pace: Pace) -> optuna.Study:
    """Open a study that there is, as a worker does."""
    return optuna.load_study(study_name=asked.study, storage=connected(asked.storage, pace))


def _mark_study(study: optuna.Study, designs: Designs, asked: Search) -> None:
    """Mark a new study as this question's; refuse one that is not."""
    question = designs.question
    # in this order: whoever begins it marks it before the first trial
    tried, attributes = bool(study.get_trials(deepcopy=False)), study.user_attrs
    place = f"{asked.storage}: the study {asked.study!r}"
    other = 'name another one (study = "…" under [search], or --study), or another storage'
    if QUESTION not in attributes:
        if tried:
            raise StudyError(f"{place} was not made by dse; {other}")
        study.set_user_attr(MADE_BY, VERSION)
        study.set_user_attr(SCENARIO, question.scenario_text)
        study.set_user_attr(TITLE, question.title)
        study.set_metric_names([g.name for g in question.objectives] or ["any design"])
        # last: who finds it relies on the others
        study.set_user_attr(QUESTION, identity(question))
        return
    if attributes[QUESTION] != identity(question):
        title = f" ({attributes[TITLE]})" if attributes.get(TITLE) else ""
        raise StudyError(f"{place} holds the trials of another question{title}; {other}")
    if attributes.get(MADE_BY) != VERSION:
        raise StudyError(f"{place} was made by dse {attributes.get(MADE_BY)}, this is dse {VERSION}; {other}")
    _still_true(study, designs, f"{place} holds what the model no longer says; {other}")


def _still_true(study: optuna.Study, designs: Designs, otherwise: str) -> None:
    """Evaluate trials again, as a user's own model may have changed: the first, the last, and others for a while."""
    if not designs.question.objectives:
        return
    done = study.get_trials(deepcopy=False, states=(State.COMPLETE,))
    since = time.monotonic()
    for count, trial in enumerate(_ends_first(done)):
        if count >= 2 and time.monotonic() - since >= AGAIN_SECONDS:
            return
        if {k.name for k in designs.knobs} - set(trial.params):
            raise StudyError(otherwise)
        if sampler.FAILURE in trial.user_attrs or max(map(abs, trial.values)) >= sampler.WORST_SCORE:
            continue
        again = score(designs.design(trial.params))
        pairs = zip(again.goals, trial.values, strict=True)
        alike = all(math.isclose(a, b, rel_tol=GOALS_AGREE) for a, b in pairs)
        missed = again.violation, sampler.violation(trial)
        if not alike or not math.isclose(*missed, rel_tol=GOALS_AGREE, abs_tol=GOALS_AGREE):
            raise StudyError(otherwise)


def _ends_first(done: Sequence[optuna.trial.FrozenTrial]) -> list[optuna.trial.FrozenTrial]:
    """Put the first trial and the last one in front, the others behind them in no order."""
    inner = list(done[1:-1])
    random.Random(0).shuffle(inner)
    return [*done[:1], *done[1:][-1:], *inner]


def identity(question: Question) -> str:
    """Return what makes a question this question and no other, as a SHA-256: all but how it is searched."""
    identifying = {
        "model": question.model.name,
        "given": dict(question.given),
        "decide": [dataclasses.asdict(d) for d in question.decide],
        "objectives": [dataclasses.asdict(g) for g in question.objectives],
        "limits": [dataclasses.asdict(x) for x in question.limits],
        "waive": sorted(question.waive),
        "idle": question.idle,
        "machines": {name: dict(m) for name, m in question.machines.items()},
    }
    if is_within(question.model):
        identifying["valid"] = True
    return identities.digest(identifying)


def finished(study: optuna.Study) -> int:
    """Count the trials that came to an end."""
    return _counts(study)[State.COMPLETE]


def _counts(study: optuna.Study) -> Counter[optuna.trial.TrialState]:
    # the study reads what is new; the database itself would read all trials for it
    return Counter(t.state for t in study.get_trials(deepcopy=False))


def work(
    study: optuna.Study,
    objective: Callable[[optuna.Trial], Any],
    trials: int,
    patience: float = 2.0 * PACE.grace,
    is_done: Callable[[], bool] | None = None,
) -> None:
    """Try designs until a study has so many finished trials, and no more, beside whoever else works on it.

    A trial whose process died is tried again once it has been silent for long enough. Where all that is
    missing is under way elsewhere, this waits for it, and after ``patience`` s without news tries one more itself.
    ``is_done``: asked before each, in place of the count.
    """
    seen, since, alone, ended = -1, time.monotonic(), False, -1

    def value(trial: optuna.Trial) -> Any:
        nonlocal ended
        # two may have begun the last trial at the same time: it belongs to the one with the lower number
        if not alone and trial.number >= trials and _before(study, trial.number) >= trials:
            ended = trial.number
            raise optuna.TrialPruned
        try:
            found = objective(trial)
        except optuna.exceptions.UpdateFinishedTrialError:
            ended = trial.number
            raise
        ended = trial.number
        return found

    while not (is_done() if is_done is not None else finished(study) >= trials):
        optuna.storages.fail_stale_trials(study)
        now = _counts(study)
        done = now[State.COMPLETE]
        if done != seen:
            seen, since = done, time.monotonic()
        alone = time.monotonic() - since >= patience
        if not now[State.WAITING] and done + now[State.RUNNING] >= trials and not alone:
            time.sleep(LOOK_EVERY)
            continue
        ended = -1
        try:
            study.optimize(value, n_trials=1)
        except (optuna.exceptions.UpdateFinishedTrialError, ValueError, AssertionError):
            # Optuna's words for a trial taken for lost by others while it was only slow: they have tried it again, and
            # told it as failed, which a trial that came to its end never is
            if ended < 0 or study.get_trials(deepcopy=False)[ended].state is not State.FAIL:
                raise


def _before(study: optuna.Study, number: int) -> int:
    """Count the trials that began before this one and have not failed."""
    alive = study.get_trials(deepcopy=False, states=(State.COMPLETE, State.RUNNING, State.WAITING))
    return sum(t.number < number for t in alive)


def _end_unfinished(study: optuna.Study, storage: optuna.storages.RDBStorage) -> None:
    """End what a process that died has left under way or waiting, now that all that was asked for is done.

    What runs and says so belongs to another command, which goes on.
    """
    optuna.storages.fail_stale_trials(study)
    alive = heard_of(storage, study.study_name)
    for trial in study.get_trials(deepcopy=False, states=(State.RUNNING, State.WAITING)):
        if trial.state is State.RUNNING and trial.number in alive:
            continue
        try:
            study.tell(trial.number, state=State.FAIL)
        except (optuna.exceptions.UpdateFinishedTrialError, ValueError):
            continue

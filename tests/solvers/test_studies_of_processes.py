"""Studies that several processes share: killed workers, models that only a script has."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
from sqlalchemy import text
from study_states import NBODY, State, kept, states

import dse
from dse.models.model import Model
from dse.quantities import Quantity
from dse.system.processes import environment
from results.solution import Status
from scenarios.question import Decision, Objective, Question, Search
from solvers.sampling import databases, sampler, studies, study_workers
from solvers.sampling.databases import Pace, StudyError
from solvers.sampling.first_trials import FirstTrials
from solvers.sampling.trials import Designs


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return str(tmp_path / "study.db")


# Several processes


def slow(folder: str) -> Model:
    """A model whose process says that it works, and blocks where it finds a file that tells it to."""

    def equations(g: Any) -> dict[str, Any]:
        import os
        import time
        from pathlib import Path

        here = Path(folder)
        if (here / f"block-{os.getpid()}").exists():
            (here / f"blocked-{os.getpid()}").touch()
            time.sleep(600)
        time.sleep(0.02)
        return {"cost": (g.size - 3.0) ** 2 if g.size < 50 else 1e4}

    size = Quantity("size", "n", "", "size", minimum=1, maximum=100)
    why = "sleeps"
    cost = (Quantity("cost", "C", "", "cost"),)
    return Model("slow", "waits", "", (), (size,), cost, (), equations, black_box=why)


def question(folder: Path) -> Question:
    return Question(slow(str(folder)), {}, (Decision("size"),), (Objective("cost"),))


def wait_for(what: Any, seconds: float = 240.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)


def heard_of_all(database: optuna.storages.RDBStorage) -> bool:
    """Whether every trial that runs has said so at least once."""
    unheard = "SELECT COUNT(*) FROM trials WHERE state = 'RUNNING' AND trial_id NOT IN"
    with database.engine.connect() as open_:
        return not open_.execute(text(f"{unheard} (SELECT trial_id FROM trial_heartbeats)")).scalar()


def survive_a_kill(folder: Path, storage: str) -> None:
    """Run two workers, kill one in the middle of a trial: all trials asked for come to an end."""
    asked = Search("random", trials=14, storage=storage, workers=2)
    # a worker that is alive is heard of within the grace on the busiest machine
    pace, seen = Pace(heartbeat=1, grace=8), []

    def told(pids: tuple[int, ...]) -> None:
        seen.append(pids)
        if len(seen) == 1:
            (folder / f"block-{pids[0]}").touch()

    def kill() -> None:
        wait_for(lambda: seen and (folder / f"blocked-{seen[0][0]}").exists())
        # a trial that never said that it runs is not a trial that falls silent
        wait_for(lambda: heard_of_all(database))
        os.kill(seen[0][0], signal.SIGKILL)

    with sampler.quiet():
        designs = Designs(question(folder))
        study, database = studies.opened(designs, asked)
        killer = threading.Thread(target=kill)
        killer.start()
        study_workers.run(
            question(folder),
            asked,
            lambda: studies.finished(study) >= asked.trials,
            pace=pace,
            report=told,
        )
        killer.join()
        found = study.get_trials()
        database.engine.dispose()
    by_state = {s: [t for t in found if t.state is s] for s in State}
    assert len(seen) == 2, "the worker that died was replaced"
    assert len(by_state[State.COMPLETE]) == asked.trials
    assert not by_state[State.RUNNING], [
        (t.number, t.state.name, t.datetime_start, t.system_attrs) for t in found
    ]
    (lost,) = by_state[State.FAIL]
    # SQLite locks no rows: two workers may notice the dead one at once, and each asks for the trial again
    retried = [t for t in found if t.system_attrs.get("failed_trial") == lost.number]
    # on a busy machine others may have found the trials asked for before it is its turn: it is dropped then
    assert {t.state for t in retried} & {State.COMPLETE, State.PRUNED}
    assert all(t.params == lost.params for t in retried)


@pytest.mark.slow
def test_a_killed_worker_loses_no_trial_in_sqlite(tmp_path: Path) -> None:
    survive_a_kill(tmp_path, str(tmp_path / "study.db"))


@pytest.fixture
def postgres() -> Iterator[str]:
    """A PostgreSQL server of this test alone, where the machine has one; not needed otherwise."""
    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    homes = [Path(p).parent for p in [shutil.which("initdb")] if p]
    homes += sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    home = next((h for h in homes if (h / "initdb").exists() and (h / "postgres").exists()), None)
    if home is None:
        pytest.skip("there is no PostgreSQL server here (initdb, postgres)")
    options: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if os.getuid() == 0:
        import pwd

        if "postgres" not in {p.pw_name for p in pwd.getpwall()}:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        options["user"] = "postgres"
    folder = Path(tempfile.mkdtemp(prefix="dse-postgres-"))
    server = None
    try:
        if "user" in options:
            shutil.chown(folder, options["user"])
        data = folder / "data"
        subprocess.run(
            [home / "initdb", "-A", "trust", "-U", "dse", "--no-sync", "-D", data],
            check=True,
            cwd=folder,
            **options,
        )
        # no port, which somebody else might take first: a socket in the folder
        command = [home / "postgres", "-D", data, "-c", "listen_addresses=", "-k", folder, "-F"]
        server = subprocess.Popen(command, cwd=folder, **options)
        where = f"postgresql://dse@/postgres?host={folder}"
        wait_for(lambda: _answers(where))
        yield where
    finally:
        if server is not None:
            server.send_signal(signal.SIGINT)
            server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _answers(where: str) -> bool:
    import psycopg

    try:
        psycopg.connect(where, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.slow
def test_a_killed_worker_loses_no_trial_in_postgresql(postgres: str, tmp_path: Path) -> None:
    survive_a_kill(tmp_path, postgres)
    found = dse.solve(NBODY, trials=6, storage=postgres, study="another", compare=False)
    assert found.status is Status.FEASIBLE
    assert states(kept(postgres, "another")) == {"COMPLETE": 6}


@pytest.mark.slow
def test_workers_share_a_study_that_nobody_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    # as if its trials took long
    monkeypatch.setattr(studies, "TIMED_SECONDS", 0.0)
    monkeypatch.setattr(studies, "SHARED_SECONDS", 0.0)
    found = dse.solve(NBODY, sampler="random", trials=20, workers=2, compare=False)
    assert found.status is Status.FEASIBLE
    assert "20 trials of Optuna random, seed 0, 2 workers (whose order chance decides)" in found.certificate


def test_cheap_trials_are_not_shared(tmp_path: Path) -> None:
    alone, shared = (
        dse.solve(NBODY, sampler="random", trials=20, seed=3, workers=n, compare=False) for n in (1, 2)
    )
    assert shared.variables == alone.variables
    assert "seed 3, in one process (2 workers would take longer to share them)" in shared.certificate


@pytest.mark.parametrize("name", ["random", "CMA-ES"])
def test_a_study_goes_on_from_trials_made_without_it(name: str, tmp_path: Path) -> None:
    asked = Search(name, trials=12, storage=str(tmp_path / "study.db"), workers=2)
    designs = Designs(question(tmp_path))
    with sampler.quiet():
        begun = optuna.create_study(sampler=sampler.made(asked, 0, 0))
        begun.optimize(sampler.objective(designs, asked), n_trials=8)
        shared = studies._shared_study(designs, asked, FirstTrials(begun, 12, 0.0, 0.0))
        assert shared is not None
        found = studies._read(designs, asked, *shared)
    kept_trials = kept(asked.storage).get_trials()
    # two may begin the last trial at the same time, of which one is given up
    assert found.trials == sum(t.state is State.COMPLETE for t in kept_trials) == 12
    assert [t.params for t in kept_trials[:8]] == [t.params for t in begun.get_trials()]
    assert "continued" not in found.effort


OWN = """
import sys, dse, numpy as np
from dse.models.model import Model
from dse.quantities import Quantity

def equations(g):
    return {"cost": np.interp(g.size, [0, 3, 10], [9.0, 1.0, 8.0])}

size = Quantity("size", "n", "", "size", minimum=1, maximum=10)
dse.register(Model("table", "looks up", "", (), (size,), (Quantity("cost", "C", "", "cost"),), (), equations))
asked = {"model": "table", "decide": {"size": {}}, "objective": {"minimize": "cost"}}
print(dse.solve(asked, sampler="random", trials=10, workers=2, storage=sys.argv[1]).status)
"""


@pytest.mark.slow
def test_workers_know_a_model_that_only_the_script_has(storage: str) -> None:
    """Standard input has no file that a worker could import."""
    done = subprocess.run(
        [sys.executable, "-", storage], input=OWN, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "feasible", done.stderr
    assert states(kept(storage))["COMPLETE"] >= 10


@pytest.mark.slow
def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    import psutil

    script = OWN.replace("return", "__import__('time').sleep(0.5)\n    return").replace(
        "trials=10", "trials=5000"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "study.db")],
        env=environment(),
        stderr=subprocess.DEVNULL,
    ) as parent:
        me = psutil.Process(parent.pid)
        # two workers, and what they are forked from
        wait_for(lambda: len(me.children(recursive=True)) == 3)
        children = me.children(recursive=True)
        parent.kill()
    # they look every 0.3 s
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive


def test_a_trial_lost_with_its_process_is_tried_again_when_the_study_is_continued(tmp_path: Path) -> None:
    """A single process, killed: nothing is left running."""
    asked = Search("random", trials=3, storage=str(tmp_path / "study.db"))
    with sampler.quiet():
        study, database = studies.opened(Designs(question(tmp_path)), asked)
        database.create_new_trial(database.get_study_id_from_name("dse"))
        assert states(study) == {"RUNNING": 1}
        objective = sampler.objective(Designs(question(tmp_path)), asked)
        # nothing was ever heard of it, so nobody knows that it is lost but by waiting
        studies.work(study, objective, 3, patience=0.5)
        assert states(study) == {"COMPLETE": 3, "RUNNING": 1}
        done = studies.search(question(tmp_path), asked)
    assert done.trials == 3
    assert states(study) == {"COMPLETE": 3, "FAIL": 1}
    database.engine.dispose()


def test_a_trial_that_another_command_runs_is_left_to_it(tmp_path: Path) -> None:
    asked = Search("random", trials=2, storage=str(tmp_path / "study.db"))
    with sampler.quiet():
        study, database = studies.opened(Designs(question(tmp_path)), asked)
        objective = sampler.objective(Designs(question(tmp_path)), asked)

        def beside(trial: optuna.Trial) -> Any:
            if trial.number == 2:
                wait_for(lambda: heard_of_all(database))
                # a shorter command on the same study ends meanwhile
                assert studies.search(question(tmp_path), asked).trials == 2
                assert study.get_trials()[2].state is State.RUNNING
            return objective(trial)

        studies.work(study, beside, 4)
        assert states(study) == {"COMPLETE": 4}
    database.engine.dispose()


@pytest.mark.parametrize("early", [True, False])
def test_who_loses_a_trial_to_others_goes_on(tmp_path: Path, early: bool) -> None:
    asked = Search("random", trials=3, storage=str(tmp_path / "study.db"))
    with sampler.quiet():
        study, database = studies.opened(Designs(question(tmp_path)), asked)
        objective = sampler.objective(Designs(question(tmp_path)), asked)

        def lost(trial: optuna.Trial) -> Any:
            value = None if early else objective(trial)
            if trial.number == 1:
                study.tell(trial.number, state=State.FAIL)
            return objective(trial) if early else value

        studies.work(study, lost, 3)
        assert states(study) == {"COMPLETE": 3, "FAIL": 1}
    database.engine.dispose()


def test_what_goes_wrong_after_a_trial_is_not_taken_for_a_lost_one(tmp_path: Path) -> None:
    class Wrong(optuna.samplers.RandomSampler):
        def after_trial(self, *of: Any) -> None:
            raise ValueError("a mistake of the sampler")

    asked = Search("random", trials=3, storage=str(tmp_path / "study.db"))
    with sampler.quiet():
        study, database = studies.opened(Designs(question(tmp_path)), asked)
        study.sampler = Wrong()
        with pytest.raises(ValueError, match="a mistake of the sampler"):
            studies.work(study, sampler.objective(Designs(question(tmp_path)), asked), 3)
        assert states(study) == {"COMPLETE": 1}
    database.engine.dispose()


def test_many_make_a_database_at_the_same_moment(storage: str) -> None:
    together, made, refused = threading.Barrier(6), [], []

    def make() -> None:
        together.wait()
        try:
            made.append(databases.connected(storage))
        except databases.StudyError as problem:
            refused.append(str(problem))

    with sampler.quiet():
        crowd = [threading.Thread(target=make) for _ in range(6)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
    assert refused == []
    for one in made:
        one.engine.dispose()


def test_a_model_that_changed_in_a_corner_is_noticed(tmp_path: Path) -> None:
    asked = Search("random", trials=9, seed=2, storage=str(tmp_path / "study.db"))
    before = question(tmp_path)
    with sampler.quiet():
        assert studies.search(before, asked).trials == 9
        sizes = [t.params["size"] for t in kept(asked.storage).get_trials()]

        def changed(g: Any) -> dict[str, Any]:
            found = before.model.equations(g)
            return {"cost": found["cost"] + (1.0 if g.size == max(sizes[1:-1]) else 0.0)}

        after = replace(before, model=replace(before.model, equations=changed))
        with pytest.raises(StudyError, match="holds what the model no longer says"):
            studies.search(after, replace(asked, trials=10))

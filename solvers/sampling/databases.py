"""Databases that keep trials: opened, made where there is none, and asked which trials still say that they run."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

import optuna
import sqlalchemy

from dse.system import files
from dse.system.records import dataclass
from results.stores.store import StoreError

BUSY_SECONDS = 60.0
RETRIES = 3
MADE_AT_ONCE = 20
PAUSE_WHILE_MADE = 0.1
DAMAGED = frozenset({"database disk image is malformed", "file is not a database"})
"""What SQLite says of such a file."""
TABLES = frozenset({"studies", "version_info"})
"""The tables that Optuna makes first."""


class StudyError(StoreError):
    """Trials cannot be kept where it is asked: the message says why."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a trial that runs says so, s, and after which silence it counts as lost and is tried again."""

    heartbeat: int = 5
    grace: int = 30


PACE = Pace()


def url(storage: str) -> str:
    """Return the URL that SQLAlchemy takes for a file or a database."""
    if "://" not in storage:
        return f"sqlite:///{Path(storage).absolute()}"
    return storage.replace("postgresql://", "postgresql+psycopg://", 1)


def connected(storage: str, pace: Pace = PACE) -> optuna.storages.RDBStorage:
    """Connect to the database that keeps the trials; raises StudyError."""
    where = url(storage)
    if "://" not in storage and not (folder := Path(storage).absolute().parent).is_dir():
        raise StudyError(f"{storage}: no study can be kept there: there is no folder {folder}")
    options: dict[str, Any] = {"pool_pre_ping": True}
    if where.startswith("sqlite"):
        # writers wait for each other
        options = {"connect_args": {"timeout": BUSY_SECONDS}}
    try:
        if where.startswith("sqlite"):
            if "://" not in storage and Path(storage).exists():
                files.regular(storage)
            _refuse_foreign(storage, where)
        made = _made(where, options, pace)
    except ImportError as problem:
        text = f"{storage}: PostgreSQL needs a driver: pip install 'codesign-dse[postgres]'"
        raise StudyError(text) from problem
    except StudyError:
        raise
    except Exception as problem:  # SQLAlchemy's own, Optuna's own, or the driver's
        raise StudyError(f"{storage}: no study can be kept there: {why(problem)}") from problem
    if where.startswith("sqlite"):
        sqlalchemy.event.listen(made.engine, "connect", _write_ahead)
        made.engine.dispose()  # connections made before are closed
    return made


def _made(where: str, options: dict[str, Any], pace: Pace) -> optuna.storages.RDBStorage:
    """Open a database, with its tables; who makes them at the same moment as another tries again."""
    for left in reversed(range(MADE_AT_ONCE)):
        try:
            return optuna.storages.RDBStorage(
                where,
                engine_kwargs=options,
                heartbeat_interval=pace.heartbeat,
                grace_period=pace.grace,
                heartbeat_stale_trial_callback=optuna.storages.RetryHeartbeatStaleTrialCallback(
                    max_retry=RETRIES
                ),
            )
        except sqlalchemy.exc.DBAPIError as problem:
            made_by_another = isinstance(problem, sqlalchemy.exc.IntegrityError)
            if not left or not (made_by_another or "already exists" in str(problem)):
                raise
            time.sleep(PAUSE_WHILE_MADE)
    raise AssertionError("the last try returns or raises")


def _refuse_foreign(storage: str, where: str) -> None:
    """Refuse a database of another program, to which Optuna's tables would be added; raises StudyError."""
    engine = sqlalchemy.create_engine(where)
    tables = set(sqlalchemy.inspect(engine).get_table_names())
    engine.dispose()
    if tables and not tables & TABLES:
        raise StudyError(
            f"{storage}: no study can be kept there: it is a database of another program; name another file"
        )


def _write_ahead(connection: Any, _record: Any) -> None:
    """Let SQLite append what is written to a log: a trial writes some twenty times, and each time waited for the disk.

    What a process wrote stays if it is killed; the last trials are lost if the machine loses power.
    """
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


def heard_of(storage: optuna.storages.RDBStorage, study: str) -> set[int]:
    """Return the numbers of the trials that have ever said that they run."""
    asked = sqlalchemy.text(
        "SELECT number FROM trials JOIN trial_heartbeats ON trial_heartbeats.trial_id = trials.trial_id "
        "JOIN studies ON studies.study_id = trials.study_id WHERE study_name = :study"
    )
    with storage.engine.connect() as open_:
        return set(open_.execute(asked, {"study": study}).scalars())


def why(problem: BaseException) -> str:
    """Return in a line what a problem of a database says at its root: Optuna says something else of a damaged one."""
    found: BaseException | None = problem
    while found is not None and not isinstance(found, sqlite3.DatabaseError):
        found = found.__cause__ or found.__context__
    told = problem.strerror if found is None and isinstance(problem, OSError) else ""
    text = told or str(found or problem).strip() or type(problem).__name__
    line = text.splitlines()[0]
    if line in DAMAGED:
        return (
            f"it is damaged, or no database of trials ({line}): name another file, or put a copy of it back"
        )
    return line

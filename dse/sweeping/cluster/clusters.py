"""Dask clusters of others, and those that a batch system starts for us: connecting, and saying what is in the way.

Everything ordinary stays ordinary: certificates come from Dask's own configuration (``distributed.comm.tls``), jobs
from that of dask-jobqueue (``jobqueue.slurm`` and so on, in ``~/.config/dask/jobqueue.yaml``). Jobs that we start talk
TLS, with a key of the run where no certificates are configured.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from dse.names import unknown
from dse.sweeping.cluster import credentials
from dse.sweeping.cluster.workers import HOST, TALKATIVE, guarded
from dse.system.processes import WorkersLost
from dse.version import DISTRIBUTION

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 30.0
"""Workers of a busy machine take ten seconds to import what they need."""
KINDS: Mapping[str, tuple[str, str]] = {
    "slurm": ("dask_jobqueue", "SLURMCluster"),
    "pbs": ("dask_jobqueue", "PBSCluster"),
    "lsf": ("dask_jobqueue", "LSFCluster"),
    "sge": ("dask_jobqueue", "SGECluster"),
    "oar": ("dask_jobqueue", "OARCluster"),
    "htcondor": ("dask_jobqueue", "HTCondorCluster"),
    "moab": ("dask_jobqueue", "MoabCluster"),
    "local": ("dask_jobqueue.local", "LocalCluster"),
}
"""Batch systems by name: the module and the class. "local" runs jobs as processes here, to try a configuration."""
_SAME = ("python", "dask", "distributed", DISTRIBUTION)
_FREE_PORT = f"{HOST}:0"
_DASK_WORKER = "distributed.cli.dask_worker"
_log = logging.getLogger("dse")


class NoAddress(ValueError):
    """What was given is not an address of a Dask scheduler."""


def connected(address: str) -> Any:
    """Return a client of the Dask scheduler at ``address``.

    Says where the connection is not encrypted. Raises NoAddress, or WorkersLost where none answers, its certificates
    do not fit, Dask's configuration wants encryption and the address has none, or it runs other versions.
    """
    from distributed import Client
    from distributed.comm import resolve_address
    from distributed.versions import VersionMismatchWarning

    _hush()
    if address.startswith("tls://"):
        _has_certificates(address)
    try:
        resolved = resolve_address(address)
        _allowed(resolved)
        with warnings.catch_warnings():
            # which versions differ is said below, in a line
            warnings.simplefilter("ignore", VersionMismatchWarning)
            client = Client(resolved, timeout=CONNECT_SECONDS, set_as_default=False)
    except OSError as problem:
        why = f"; {problem.__cause__ or problem}" if address.startswith("tls") else ""
        raise WorkersLost(f"no Dask scheduler answers at {address}{why}") from problem
    except ValueError as problem:
        raise NoAddress(f"{address!r} is not an address of a Dask scheduler: {problem}") from problem
    if credentials.unprotected(resolved):
        _log.warning(
            "the connection to %s is neither encrypted nor authenticated: who reaches its ports can run programs as "
            "their user; start scheduler and workers with TLS and give --scheduler tls://… (docs/security.md)",
            address,
        )
    try:
        with patiently(address):
            same_versions(client, address)
            importable(client)
    except BaseException:
        client.close(timeout=2)
        raise
    return client


def _allowed(address: str) -> None:
    import dask.config

    key = "distributed.comm.require-encryption"
    if dask.config.get(key, default=None) and not credentials.encrypted(address):
        raise WorkersLost(f"{address} is not encrypted, which {key} asks for; give a scheduler at tls://…")


def _has_certificates(address: str) -> None:
    from distributed.security import Security

    try:
        known = Security().get_connection_args("client").get("ssl_context") is not None
    except OSError as problem:
        raise WorkersLost(
            f"{address}: the certificates of Dask's configuration cannot be read: {problem}"
        ) from problem
    if not known:
        keys = "ca-file, client.cert and client.key under distributed.comm.tls"
        raise WorkersLost(f"{address}: Dask's configuration names no certificates: it needs {keys}")


@contextmanager
def submitted(kind: str, jobs: int, adapt: tuple[int, int] | None = None) -> Iterator[Any]:
    """Start workers as jobs of a batch system, and give a client of them; the jobs end with the context.

    ``kind``: of KINDS. ``jobs``: how many, or ``adapt``: at least and at most so many, as work asks for them.
    Raises UnknownName, or WorkersLost where dask-jobqueue or the batch system is not there, or the configuration
    does not say what a job is.
    """
    from distributed import Client

    _hush()
    with ExitStack() as until:
        cluster = _cluster(kind, until)
        until.callback(_closed, cluster)
        if adapt is None:
            cluster.scale(jobs=jobs)
        else:
            cluster.adapt(minimum_jobs=adapt[0], maximum_jobs=adapt[1])
        with Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False) as client:
            yield client


def _closed(cluster: Any) -> None:
    # a batch system that does not answer must not hide what went wrong
    with suppress(Exception):
        cluster.close(timeout=CONNECT_SECONDS)


def _cluster(kind: str, until: ExitStack) -> Any:
    from importlib import import_module

    import dask.config

    if kind not in KINDS:
        raise unknown("cluster", kind, KINDS)
    module, name = KINDS[kind]
    try:
        made = getattr(import_module(module), name)
    except ImportError as problem:
        told = f'--cluster {kind} needs dask-jobqueue: pip install "codesign-dse[cluster]" ({problem})'
        raise WorkersLost(told) from problem
    _has_command(kind, made.job_cls)
    folder = _folder(kind, until)
    security = _security(kind, folder)
    options = dict(dask.config.get(f"jobqueue.{kind}.scheduler-options", None) or {})
    # pages have no password: there are none, unless the configuration asks for them
    pages = "dashboard_address" in options
    options = {"dashboard_address": _FREE_PORT, "dashboard": pages} | options
    more = _workers(kind, folder)
    try:
        with guarded(str(folder), pages=pages):
            return made(scheduler_options=_heard_here(kind, options), **more, security=security)
    except (ValueError, TypeError) as problem:
        where = f"jobqueue.{kind} in {dask.config.PATH}/jobqueue.yaml"
        raise WorkersLost(f"--cluster {kind}: {problem}; a job is described by {where}") from problem


def _heard_here(kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """Let the scheduler of jobs that are processes of this machine be heard in this machine only."""
    chosen = "interface" in options or _configured(kind, "interface")
    return options if kind != "local" or chosen else {"host": HOST} | options


def _workers(kind: str, folder: Path) -> dict[str, Any]:
    """Return what jobs get beside their configuration, which has the last word."""
    import dask.config

    found: dict[str, Any] = {}
    if not _configured(kind, "local-directory") and not dask.config.get("temporary-directory", default=None):
        # Dask's own is one that the users of a node share, and a nanny looks for modules there
        found["local_directory"] = str(folder)
    if not _configured(kind, "python"):
        # -m alone looks for modules in the working folder first, whoever has put them there
        found["python"] = f"{sys.executable} -P"
    if _configured(kind, "worker-command") != _DASK_WORKER:
        return found
    more = ["--no-dashboard", "--dashboard-address", _FREE_PORT]
    if kind == "local" and not _configured(kind, "interface"):
        more += ["--host", HOST]
    asked = _configured(kind, "worker-extra-args") or _configured(kind, "extra") or []
    return found | {"worker_extra_args": [*more, *asked]}


def _configured(kind: str, key: str) -> Any:
    import dask.config

    return dask.config.get(f"jobqueue.{kind}.{key}", default=None)


def _folder(kind: str, until: ExitStack) -> Path:
    """Make a folder that jobs see and only this user can look into; it is gone when ``until`` ends."""
    key = "shared-temp-directory"
    shared = Path(os.path.expandvars(_configured(kind, key) or Path.cwd())).expanduser()
    right = f"name a folder that the jobs see as jobqueue.{kind}.{key} in Dask's configuration"
    # the command of a job is put together without quotes
    if len(str(shared).split()) > 1:
        raise WorkersLost(f"--cluster {kind}: {shared} cannot keep what jobs need: it has blanks; {right}")
    try:
        made = tempfile.TemporaryDirectory(prefix=".dse-", dir=shared, ignore_cleanup_errors=True)
    except OSError as problem:
        raise WorkersLost(f"--cluster {kind}: no place for what jobs need: {problem}; {right}") from problem
    return Path(until.enter_context(made))


def _security(kind: str, folder: Path) -> Any:
    """Return the certificates of a cluster, or None where it is to have none, which is said."""
    security = credentials.of_jobs(folder)
    if security is None:
        _log.warning(
            "the jobs of --cluster %s talk unencrypted, as distributed.comm.require-encryption says: who reaches "
            "their ports can run programs as you (docs/security.md)",
            kind,
        )
    return security


def _has_command(kind: str, job: Any) -> None:
    command = (getattr(job, "submit_command", None) or "").split()
    if command and shutil.which(command[0]) is None:
        raise WorkersLost(
            f"--cluster {kind}: there is no {command[0]} on this machine; run it where jobs can be submitted"
        )


@contextmanager
def patiently(where: str) -> Iterator[None]:
    """Say so where workers take long to answer: one that is stopped is waited for until Dask gives it up."""
    text = "not all workers at %s have answered yet; Dask gives up one that is silent for as long as %s says"
    timer = threading.Timer(ANSWER_SECONDS, _log.warning, (text, where, "distributed.scheduler.worker-ttl"))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def same_versions(client: Any, where: str) -> None:
    """Raise WorkersLost where a scheduler or its workers run another Python, Dask or dse than this process."""
    found = client.get_versions(packages=[DISTRIBUTION])
    mine = _versions(found["client"])
    others = {f"the scheduler at {where}": found["scheduler"]}
    others |= {f"the worker {address}": told for address, told in found["workers"].items()}
    for name, told in others.items():
        theirs = _versions(told)
        # a package that runs from a checkout has no version to compare
        differ = [p for p in _SAME if p in mine and p in theirs and mine[p] != theirs[p]]
        if differ:
            said = ", ".join(f"{p} {theirs[p]} (here {mine[p]})" for p in differ)
            raise WorkersLost(f"{name} has {said}; install the same on both")


def importable(client: Any) -> None:
    """Raise WorkersLost where a worker cannot import dse: the first task it is sent would end it without a word."""
    from distributed.comm import CommClosedError

    # what travels is a name that every Python has
    for address, problem in client.run(
        exec, "import dse.sweeping.points.chunk_work", on_error="return"
    ).items():
        # one that leaves at this moment is no trouble
        if problem is not None and not isinstance(problem, CommClosedError):
            raise WorkersLost(
                f"the worker {address} cannot import dse: {problem}; install it where the workers run"
            )


def _versions(told: Any) -> dict[str, str]:
    packages = (told or {}).get("packages") or {}
    found = {p: str(packages[p]) for p in _SAME if packages.get(p)}
    if "python" in found:
        # patches of one Python understand each other
        found["python"] = ".".join(found["python"].split(".")[:2])
    return found


def _hush() -> None:
    """Keep what Dask logs of connections that end off the terminal: we say it ourselves."""
    for name in (*TALKATIVE, "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)

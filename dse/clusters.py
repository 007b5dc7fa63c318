"""Dask clusters of others, and those that a batch system starts for us: connecting, and saying what is in the way.

Everything ordinary stays ordinary: certificates come from Dask's own configuration (``distributed.comm.tls``), jobs
from that of dask-jobqueue (``jobqueue.slurm`` and so on, in ``~/.config/dask/jobqueue.yaml``).
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from dse.names import unknown
from dse.workers import TALKATIVE, WorkersLost

CONNECT_SECONDS = 10.0
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
_SAME = ("python", "dask", "distributed", "dse")
_FREE_PORT = ":0"


class NoAddress(ValueError):
    """What was given is no address of a Dask scheduler."""


def connected(address: str) -> Any:
    """Return a client of the Dask scheduler at ``address``.

    Raises NoAddress, or WorkersLost where none answers, its certificates do not fit, or it runs other versions.
    """
    from distributed import Client
    from distributed.comm import resolve_address

    _hush()
    if address.startswith("tls://"):
        _has_certificates(address)
    try:
        client = Client(resolve_address(address), timeout=CONNECT_SECONDS, set_as_default=False)
    except OSError as problem:
        why = f"; {problem.__cause__ or problem}" if address.startswith("tls") else ""
        raise WorkersLost(f"no Dask scheduler answers at {address}{why}") from problem
    except ValueError as problem:
        raise NoAddress(f"{address!r} is no address of a Dask scheduler: {problem}") from problem
    try:
        same_versions(client, address)
        importable(client)
    except BaseException:
        client.close(timeout=2)
        raise
    return client


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
    cluster = _cluster(kind)
    try:
        if adapt is None:
            cluster.scale(jobs=jobs)
        else:
            cluster.adapt(minimum_jobs=adapt[0], maximum_jobs=adapt[1])
        with Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False) as client:
            yield client
    finally:
        # a batch system that does not answer must not hide what went wrong
        with suppress(Exception):
            cluster.close(timeout=CONNECT_SECONDS)


def _cluster(kind: str) -> Any:
    from importlib import import_module

    import dask.config

    if kind not in KINDS:
        raise unknown("cluster", kind, KINDS)
    module, name = KINDS[kind]
    try:
        made = getattr(import_module(module), name)
    except ImportError as problem:
        told = f'--cluster {kind} needs dask-jobqueue: pip install "dse[cluster]" ({problem})'
        raise WorkersLost(told) from problem
    _has_command(kind, made.job_cls)
    options = dict(dask.config.get(f"jobqueue.{kind}.scheduler-options", None) or {})
    # a fixed port for the dashboard is often taken on a machine that many share
    options.setdefault("dashboard_address", _FREE_PORT)
    more: dict[str, Any] = {}
    if dask.config.get("distributed.comm.require-encryption", default=False):
        from distributed.security import Security

        more = {"protocol": "tls://", "security": Security()}
    try:
        return made(scheduler_options=options, **more)
    except (ValueError, TypeError) as problem:
        where = f"jobqueue.{kind} in {dask.config.PATH}/jobqueue.yaml"
        raise WorkersLost(f"--cluster {kind}: {problem}; a job is described by {where}") from problem


def _has_command(kind: str, job: Any) -> None:
    command = (getattr(job, "submit_command", None) or "").split()
    if command and shutil.which(command[0]) is None:
        raise WorkersLost(
            f"--cluster {kind}: there is no {command[0]} on this machine; run it where jobs can be submitted"
        )


def same_versions(client: Any, where: str) -> None:
    """Raise WorkersLost where a scheduler or its workers run another Python, Dask or dse than this process."""
    found = client.get_versions(packages=["dse"])
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
    for address, problem in client.run(exec, "import dse.chunk_work", on_error="return").items():
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

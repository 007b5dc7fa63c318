"""Sweeps on clusters: schedulers and workers as processes of their own, and what is said when they are not there."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from dask.config import set as configured
from distributed import Client, LocalCluster

import dse
import results.stores.store
from dse.sweeping.cluster import clusters, credentials
from dse.sweeping.cluster.workers import WorkersLost

# a model of the caller's own that takes plain numbers only: chunks of 20 points; the second half waits for a file
SLOW = """
import os, sys, time, dse
from dse.sweeping.cluster.clusters import connected
from dse.models.model import Model
from dse.quantities import Quantity

def equations(g):
    while g.size > 150 and not os.path.exists("go"):
        time.sleep(0.05)
    return {"time": g.size * 2.0}

dse.register(Model("slow", "takes its time", "", (), (Quantity("size", "n", "", "size"),),
                   (Quantity("time", "T", "s", "time"),), (), equations))
asked = {"model": "slow", "sweep": {"size": {"path": "given.size", "start": 1, "stop": 300, "num": 300}}}
try:
    with connected(sys.argv[1]) as client:
        dse.sweep(asked, "s.zarr", client=client, progress=False)
except dse.sweeping.cluster.workers.WorkersLost as problem:
    print("lost:", problem)
"""


@pytest.fixture
def dask(surroundings: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., psutil.Process]]:
    """Start `dask scheduler` or `dask worker` as a process of its own; all are gone at the end."""
    started: list[psutil.Process] = []

    def process(what: str, *arguments: str, **environment: str) -> psutil.Process:
        log = (tmp_path / f"{what}-{len(started)}.log").open("w")
        command = [sys.executable, "-m", "dask", what, *arguments, "--no-dashboard"]
        made = psutil.Popen(
            command,
            env=surroundings | environment,
            stdout=log,
            stderr=log,
            cwd=tmp_path,
            start_new_session=True,
        )
        started.append(made)
        return made

    yield process
    for made in started:
        for one in (*family(made), made):
            if one.is_running():
                one.kill()
        made.wait()


def family(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.fixture
def scheduler(dask: Any, tmp_path: Path, waiting: Any) -> Callable[..., tuple[psutil.Process, str]]:
    """Start a scheduler on a free port and tell its address."""

    def start(*arguments: str, **environment: str) -> tuple[psutil.Process, str]:
        file = tmp_path / "scheduler.json"
        told = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
        made = dask("scheduler", *told, *arguments, **environment)
        waiting(lambda: file.exists() and file.read_text().strip().endswith("}"))
        return made, json.loads(file.read_text())["address"]

    return start


def done(store: Path) -> int:
    return len(results.stores.store.done(store)) if store.exists() else 0


def whole(store: Path) -> bool:
    found = dse.open(store).load()
    assert results.stores.store.verify(store) == {}
    return bool((found.time.values == 2 * found["size"].values).all() and (found.status.values == 6).all())


@pytest.mark.slow
def test_one_worker_is_killed_others_lack_dse_or_have_an_older_one_and_the_last_does_the_rest(
    dask: Any,
    scheduler: Any,
    waiting: Any,
    tmp_path: Path,
    surroundings: dict[str, str],
    without_dse: dict[str, str],
    another_dse: dict[str, str],
):
    _, address = scheduler()
    first = dask("worker", address, "--no-nanny", "--nthreads", "1")
    dask("worker", address, "--nthreads", "2")
    command = [sys.executable, "-c", SLOW, address]
    process = subprocess.Popen(command, cwd=tmp_path, env=surroundings, stderr=subprocess.PIPE, text=True)
    waiting(lambda: done(tmp_path / "s.zarr") >= 2)
    first.kill()
    # it joins late and has a nanny: neither of them may stay
    late = dask("worker", address, "--nthreads", "1", **without_dse)
    other = dask("worker", address, "--nthreads", "1", **another_dse)
    waiting(lambda: gone(late) and gone(other))
    (tmp_path / "go").touch()
    _, complaints = process.communicate(timeout=240)
    assert process.returncode == 0, complaints
    assert "cannot import dse: there is no dse; install the same where the workers run" in complaints
    assert f"has dse 0.0.9 (here {dse.__version__}); install the same" in complaints
    assert "the sweep goes on without it" in complaints
    assert whole(tmp_path / "s.zarr")


@pytest.fixture
def without_dse(tmp_path: Path) -> dict[str, str]:
    """An environment in which something that fails stands before our dse, as if nothing were installed."""
    (tmp_path / "other" / "dse").mkdir(parents=True)
    (tmp_path / "other" / "dse" / "__init__.py").write_text("raise ModuleNotFoundError('there is no dse')")
    return {"PYTHONPATH": str(tmp_path / "other")}


@pytest.fixture
def another_dse(tmp_path: Path) -> dict[str, str]:
    """An environment in which our dse says that it is an older one."""
    (tmp_path / "older").mkdir()
    (tmp_path / "older" / "sitecustomize.py").write_text("import dse\ndse.__version__ = '0.0.9'\n")
    return {"PYTHONPATH": os.pathsep.join([str(tmp_path / "older"), str(Path(dse.__file__).parents[1])])}


@pytest.mark.slow
def test_a_killed_scheduler_takes_its_workers_along_and_the_sweep_says_so(
    dask: Any, scheduler: Any, waiting: Any, tmp_path: Path, surroundings: dict[str, str]
):
    head, address = scheduler()
    workers = [dask("worker", address, "--no-nanny"), dask("worker", address)]
    command = [sys.executable, "-c", SLOW, address]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=tmp_path, env=surroundings, **pipes)
    waiting(lambda: done(tmp_path / "s.zarr") >= 1)
    nannied = family(workers[1])
    head.kill()
    told, complaints = process.communicate(timeout=240)
    assert "Traceback" not in complaints
    assert told.startswith("lost: the connection to the Dask scheduler is lost; what is stored stays valid")
    waiting(lambda: all(gone(p) for p in (*workers, *nannied)))
    kept = done(tmp_path / "s.zarr")
    # that another cluster goes on where this one was: tests/crash
    assert 1 <= kept < 15
    assert results.stores.store.verify(tmp_path / "s.zarr") == {}


def certificates(folder: Path) -> dict[str, Path]:
    """A certificate that is its own authority, as a test cluster may have one."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    subject = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    made = ("-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(key), "-out", str(cert))
    subprocess.run(["openssl", "req", "-x509", *made, *subject], check=True, capture_output=True)
    return {"ca-file": cert, "cert": cert, "key": key}


@pytest.mark.slow
def test_a_scheduler_with_tls_is_reached_by_dasks_ordinary_configuration(
    dask: Any, scheduler: Any, run: Any, tmp_path: Path, evaluated: Path, monkeypatch: pytest.MonkeyPatch
):
    files = certificates(tmp_path)
    options = [x for name, file in files.items() for x in (f"--tls-{name}", str(file))]
    _, address = scheduler("--protocol", "tls", *options)
    assert address.startswith("tls://")
    dask("worker", address, "--no-nanny", *options)
    ask = (
        "-m",
        "dse",
        "evaluate",
        evaluated.name,
        "-o",
        "t.zarr",
        "--metrics",
        "time",
        "--scheduler",
        address,
    )
    without = run(*ask)
    assert without.returncode == 1
    assert "names no certificates" in without.stderr
    assert "Traceback" not in without.stderr
    prefix = "DASK_DISTRIBUTED__COMM__TLS__"
    monkeypatch.setenv(f"{prefix}CA_FILE", str(files["ca-file"]))
    monkeypatch.setenv(f"{prefix}CLIENT__CERT", str(files["cert"]))
    monkeypatch.setenv(f"{prefix}CLIENT__KEY", str(files["key"]))
    found = run(*ask)
    assert found.returncode == 0, found.stderr
    np.testing.assert_allclose(dse.open(tmp_path / "t.zarr").time, dse.evaluate(evaluated).time, rtol=1e-14)


@pytest.mark.slow
def test_a_scheduler_without_workers_is_told_of_after_a_while(scheduler: Any, run: Any, evaluated: Path):
    _, address = scheduler()
    ask = ("-m", "dse", "sweep", evaluated.name, "-o", "n.zarr", "--scheduler", address, "--patience", "1 s")
    found = run(*ask)
    assert found.returncode == 1
    assert "the cluster has had no worker for" in found.stderr
    assert "--patience" in found.stderr


@pytest.mark.slow
@pytest.mark.parametrize("who", ["scheduler", "worker"])
def test_a_part_of_the_cluster_without_dse_is_named(
    dask: Any, scheduler: Any, run: Any, evaluated: Path, without_dse: dict[str, str], who: str
):
    _, address = scheduler(**(without_dse if who == "scheduler" else {}))
    dask("worker", address, "--no-nanny", **(without_dse if who == "worker" else {}))
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60)
    found = run("-m", "dse", "sweep", evaluated.name, "-o", "n.zarr", "--scheduler", address)
    assert found.returncode == 1, found.stderr
    assert f"dse: the {who}" in found.stderr
    assert "cannot import dse: there is no dse; install it where" in found.stderr
    assert "Traceback" not in found.stderr


def test_workers_that_take_long_to_answer_are_told_of(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, waiting: Any
):
    monkeypatch.setattr(clusters, "ANSWER_SECONDS", 0.01)
    with clusters.patiently("tcp://10.0.0.1:8786"):
        waiting(lambda: "not all workers at tcp://10.0.0.1:8786 have answered yet" in caplog.text)
    assert "worker-ttl" in caplog.text


@pytest.fixture
def open_scheduler() -> Iterator[str]:
    """The address of a scheduler without TLS in this process."""
    options = {"n_workers": 0, "processes": False, "protocol": "tcp://", "host": "127.0.0.1"}
    quiet = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(dashboard_address=None, scheduler_kwargs=quiet, **options) as cluster:
        yield cluster.scheduler_address


def test_a_connection_in_the_open_is_told_of_once(
    open_scheduler: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    clusters.connected(open_scheduler).close()
    assert "encrypted" not in caplog.text, "on the loopback nobody can read it"
    monkeypatch.setattr(credentials, "unprotected", lambda address: address.startswith("tcp://"))
    clusters.connected(open_scheduler).close()
    assert caplog.text.count("neither encrypted nor authenticated") == 1
    assert "give --scheduler tls://" in caplog.text


def test_other_versions_are_told_of_in_our_own_words_alone(
    open_scheduler: str, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
):
    table = {"warning": "a table with paths", "error": ""}
    monkeypatch.setattr("distributed.versions.error_message", lambda *told: table)
    clusters.connected(open_scheduler).close()
    assert not [w for w in recwarn if "table" in str(w.message)]


def test_a_site_that_requires_encryption_is_told_what_to_give():
    required = configured({"distributed.comm.require-encryption": True})
    with required, pytest.raises(WorkersLost, match=r"is not encrypted.*require-encryption.*tls://"):
        clusters.connected("tcp://127.0.0.1:1")


@pytest.mark.slow
def test_jobs_are_started_as_the_configuration_says_and_end_with_the_sweep(
    run: Any, tmp_path: Path, evaluated: Path, monkeypatch: pytest.MonkeyPatch
):
    """dask-jobqueue's own stand-in for a batch system: jobs are processes of this machine (--jobs: docs/how)."""
    pytest.importorskip("dask_jobqueue")
    monkeypatch.setenv("DASK_JOBQUEUE__LOCAL__CORES", "1")
    monkeypatch.setenv("DASK_JOBQUEUE__LOCAL__MEMORY", "1GB")
    monkeypatch.setenv("DASK_JOBQUEUE__LOCAL__NAME", f"dse-test-{tmp_path.name}")
    found = run(
        "-m", "dse", "evaluate", evaluated.name, "-o", "j.zarr", "--cluster", "local", "--adapt", "0:2"
    )
    assert found.returncode == 0, found.stderr
    assert "Traceback" not in found.stderr
    np.testing.assert_allclose(
        dse.open(tmp_path / "j.zarr").energy, dse.evaluate(evaluated).energy, rtol=1e-14
    )
    left = [
        p for p in psutil.process_iter(["cmdline"]) if f"dse-test-{tmp_path.name}" in str(p.info["cmdline"])
    ]
    assert not [p for p in left if not gone(p)]

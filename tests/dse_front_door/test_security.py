"""What our processes listen to, who is heard there, and what is left behind."""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed.core import rpc
from distributed.security import Security

from dse.sweeping.cluster import credentials

LOOPBACK = ("127.", "::1")
JOBS = {"CORES": "1", "MEMORY": "1GB", "DEATH_TIMEOUT": "20"}
PAGES = ("/", "/status", "/health", "/metrics", "/info/main/workers.html", "/json/counts.json", "/statics/")
STUDY = """
[search]
sampler = "random"
trials  = 4
workers = 2
storage = "study.db"    # without one trials as cheap as these are one process's
"""

Started = subprocess.Popen[str]


def family(process: Started) -> list[psutil.Process]:
    """A command, as a process, and all that it has started."""
    try:
        parent = psutil.Process(process.pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def ears(one: psutil.Process) -> set[tuple[str, int]]:
    """Addresses at which a process can be reached: TCP that is listened to, and UDP that is bound."""
    try:
        sockets = one.net_connections(kind="inet")
    except psutil.Error:
        return set()
    heard = (
        s for s in sockets if s.laddr and (s.status == psutil.CONN_LISTEN or s.type.name == "SOCK_DGRAM")
    )
    return {(s.laddr.ip, s.laddr.port) for s in heard}


class Ended:
    """What a command that was watched to its end has said, and where it and its children listened.

    ``seen``: called after each look at them, with what was seen so far.
    """

    def __init__(self, process: Started, seen: Callable[[Ended], object] = lambda ended: None) -> None:
        self.heard: dict[str, set[tuple[str, int]]] = {"": set()}
        self.helpers: set[int] = set()
        while process.poll() is None:
            for one in family(process):
                name = "" if one.pid == process.pid else "helpers"
                self.heard[name] = self.heard.get(name, set()) | ears(one)
                self.helpers |= {one.pid} - {process.pid}
            seen(self)
            # looking takes the processor from those that are looked at
            time.sleep(0.1)
        self.out, self.err = process.communicate()

    @property
    def all(self) -> set[tuple[str, int]]:
        return set().union(*self.heard.values())


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files of all processes, which a test can look into."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a job of ``--cluster local`` is."""
    for key, value in JOBS.items():
        monkeypatch.setenv(f"DASK_JOBQUEUE__LOCAL__{key}", value)


@pytest.fixture
def under_way(
    start: Any, grid_file: Callable[[int], Path], workers_of: Any, waiting: Any
) -> Callable[..., Started]:
    """Start a sweep whose chunks are held, and wait until all its processes listen."""

    def sweep(listening: int, *options: str) -> Started:
        process = start("sweep", str(grid_file(40)), "-o", "s.zarr", *options, hold=1)
        waiting(
            lambda: process.poll() is not None or len(set().union(*map(ears, family(process)))) >= listening
        )
        assert process.poll() is None, process.communicate()[1]
        # the last one may not have told the scheduler yet
        time.sleep(1)
        return process

    return sweep


def answering(addresses: Iterable[str], security: Any) -> list[str]:
    """Those of some addresses at which a Dask process lets somebody in who calls it.

    All are called at once: one that hears nobody is waited for as long as is asked.
    """
    arguments = security.get_connection_args("client") if security else {}

    async def answers(address: str) -> bool:
        try:
            async with asyncio.timeout(20):
                told = await rpc(address, timeout=3, connection_args=arguments).identity()
        except OSError:
            return False
        return bool(told)

    async def ask() -> list[bool]:
        return await asyncio.gather(*map(answers, called))

    called = list(addresses)
    return [address for address, heard in zip(called, asyncio.run(ask()), strict=True) if heard]


def through(protocol: str, ports: Iterable[int]) -> list[str]:
    """The addresses of ports of this machine."""
    return [f"{protocol}://127.0.0.1:{port}" for port in ports]


def key_of(worker: psutil.Process) -> Security:
    """The credentials of a worker, as only its own user can read them."""
    told = worker.environ()
    shown, key = (told[f"{credentials.PREFIX}TLS__{x}"] for x in ("CA_FILE", "WORKER__KEY"))
    return Security(require_encryption=True, tls_ca_file=shown, tls_client_cert=shown, tls_client_key=key)


def status(port: int, page: str) -> int | None:
    """What an HTTP server answers at a page; None where there is none."""
    found = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        found.request("GET", page)
        return found.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        found.close()


@pytest.mark.slow
def test_only_who_has_the_key_of_the_run_is_heard(under_way: Any, temporary: Path):
    # scheduler and two workers, each with a port of its own and one for pages
    process = under_way(6, "--workers", "2")
    everybody = family(process)
    heard = {one: ears(one) for one in everybody}
    assert all(ip.startswith(LOOPBACK) for found in heard.values() for ip, _ in found), heard
    ours, other = key_of(everybody[-1]), credentials.of_one_run()
    # the process that the workers are forked from listens to nobody
    assert [len(found) for found in heard.values()].count(0) == 1
    ears_of_each = [found for found in heard.values() if found]
    assert {len(found) for found in ears_of_each} == {2}, heard
    ports = [port for found in ears_of_each for _, port in found]
    let_in = answering(through("tls", ports), ours)
    assert len(ears_of_each) == 3
    for found in ears_of_each:
        for_pages = [port for _, port in found if f"tls://127.0.0.1:{port}" not in let_in]
        assert len(for_pages) == 1, "one of the two is not for pages"
        assert {status(for_pages[0], page) for page in PAGES} == {404}
    assert answering(let_in, other) == []
    assert answering([address.replace("tls", "tcp") for address in let_in], None) == []
    secrets = ours.tls_client_key.splitlines()[1:-1]
    for one in everybody:
        assert not any(line in " ".join(one.cmdline()) for line in secrets)
    for folder in temporary.iterdir():
        assert folder.stat().st_mode & 0o077 == 0, "nobody else may look into it"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_workers_end_and_take_their_folder_away_where_their_parent_is_killed(
    under_way: Any, temporary: Path, waiting: Any
):
    process = under_way(6, "--workers", "2")
    helpers = family(process)[1:]
    assert len(helpers) == 3
    assert list(temporary.iterdir())
    process.kill()
    waiting(lambda: not list(temporary.iterdir()), seconds=30)
    waiting(lambda: not any(one.is_running() for one in helpers), seconds=30)


@pytest.mark.slow
def test_jobs_of_a_cluster_hear_only_who_has_the_key_of_the_run(
    under_way: Any, jobs: None, tmp_path: Path, temporary: Path
):
    # the scheduler; a worker and its nanny
    process = under_way(5, "--cluster", "local")
    everybody = family(process)
    heard = set().union(*map(ears, everybody))
    assert all(ip.startswith(LOOPBACK) for ip, _ in heard), heard
    (folder,) = tmp_path.glob(".dse-*")
    assert folder.stat().st_mode & 0o777 == 0o700
    shown, key = folder / "certificate.pem", folder / "key.pem"
    assert key.stat().st_mode & 0o777 == 0o600
    ours = Security(
        require_encryption=True, tls_ca_file=str(shown), tls_client_cert=str(shown), tls_client_key=str(key)
    )
    let_in = answering(through("tls", (port for _, port in heard)), ours)
    assert len(let_in) == 3, "scheduler, nanny, worker"
    other = credentials.of_one_run()
    assert answering(let_in, other) == []
    assert answering([address.replace("tls", "tcp") for address in let_in], None) == []
    secrets = key.read_text().splitlines()[1:-1]
    assert not any(line in " ".join(one.cmdline()) for one in everybody for line in secrets)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert not list(tmp_path.glob(".dse-*"))
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_jobs_look_for_no_modules_in_the_working_folder(run: Any, jobs: None, grid_file: Any, tmp_path: Path):
    grid_file(2)
    (tmp_path / "numpy.py").write_text("raise SystemExit('this is not numpy')")
    found = run("-P", "-m", "dse", "sweep", "grid.toml", "-o", "s.zarr", "--cluster", "local")
    assert found.returncode == 0, found.stderr


@pytest.mark.slow
def test_a_sweep_is_reached_from_this_machine_only_from_beginning_to_end(
    start: Any, grid_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    release = tmp_path / "release"
    monkeypatch.setenv("CHUNK_RELEASE", str(release))
    ends = time.monotonic() + 120

    def let_go(seen: Ended) -> None:
        """Hold the chunks until all were seen: on a busy machine they would be gone between two looks."""
        if (len(seen.all) >= 6 and len(seen.helpers) >= 4) or time.monotonic() > ends:
            release.touch()

    process = start("sweep", str(grid_file(16)), "-o", "s.zarr", "--workers", "2", "--audit", "1", hold=1)
    found = Ended(process, let_go)
    assert process.returncode == 0, found.err
    # two workers and what they are forked from; the last one answers a point again, and is told which through a pipe
    assert len(found.helpers) >= 4
    assert len(found.all) >= 6
    assert all(ip.startswith(LOOPBACK) for ip, _ in found.all), found.heard


@pytest.mark.slow
def test_threads_and_the_processes_of_a_study_listen_to_nobody(
    start: Any, grid_file: Any, deadline: Path, monkeypatch: pytest.MonkeyPatch
):
    file = evaluated(grid_file(40))
    # point by point it would go without threads
    monkeypatch.setenv("ONE_BY_ONE", "")
    threads = Ended(start("evaluate", str(file), "-o", "e.zarr", "--metrics", "time", pause=0.5))
    assert "evaluated as arrays" in threads.err
    assert threads.all == set(), threads.heard
    deadline.write_text(deadline.read_text() + STUDY)
    process = start("solve", str(deadline))
    study = Ended(process)
    assert process.returncode == 0, study.err
    assert len(study.helpers) >= 3
    assert study.all == set(), study.heard


def evaluated(file: Path) -> Path:
    """A grid without decisions, of several chunks: they are computed by threads."""
    text = file.read_text().partition("[decide]")
    rest = text[2].partition("[sweep.bodies]")[2]
    given = (
        text[0]
        + "processors = 100\n\n[sweep.memory]\npath = 'given.memory'\nstart = 1e3\nstop = 1e4\nnum = 400000\n"
    )
    file.write_text(f"{given}\n[sweep.bodies]{rest}")
    return file


def test_a_key_fits_a_clock_that_is_behind():
    """A certificate that begins now would be refused where the clock is a second behind."""
    from cryptography import x509

    made = x509.load_pem_x509_certificate(credentials.of_one_run().tls_ca_file.encode())
    assert made.not_valid_before_utc.year == 2000


def test_each_run_has_a_key_of_its_own():
    first, second = credentials.of_one_run(), credentials.of_one_run()
    assert first.tls_worker_key != second.tls_worker_key


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://10.0.0.1:8786", True),
        ("ws://node.example:80", True),
        ("tcp://node.example:8786", True),
        ("tcp://[2001:db8::1]:8786", True),
        ("tls://10.0.0.1:8786", False),
        ("tcp://127.0.0.1:8786", False),
        ("tcp://[::1]:8786", False),
    ],
)
def test_what_goes_through_a_network_in_the_open_is_told(address: str, said: bool):
    assert credentials.unprotected(address) is said


def test_dasks_own_configuration_of_certificates_wins(tmp_path: Path):
    import dask.config

    named = {"ca-file": "a.pem", "client.cert": "c.pem", "scheduler.cert": "s.pem", "worker.cert": "w.pem"}
    with dask.config.set({f"distributed.comm.tls.{key}": file for key, file in named.items()}):
        assert credentials.of_jobs(tmp_path).tls_worker_cert == "w.pem"
    with dask.config.set({"distributed.comm.require-encryption": False}):
        assert credentials.of_jobs(tmp_path) is None
    assert not list(tmp_path.iterdir())
    assert credentials.of_jobs(tmp_path).tls_worker_key == os.fspath(tmp_path / "key.pem")

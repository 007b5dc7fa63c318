"""Sweeps through a real SLURM on this one machine: `make slurm`, or python tests/cluster/slurm.py [--install].

Starts munged, slurmctld and slurmd from a folder of its own, drives them through dask-jobqueue by its ordinary
configuration file, and ends them again. Nothing is installed unless --install is given (Debian packages, as root);
where SLURM is not there, it says so and ends with 0. CPUs are not enforced: this shows scheduling, not speed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import dse
import results.stores.store

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo", "munged", "unmunge")
PACKAGES = ("slurm-wlm", "munge")
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
CONTROL_PORT, NODE_PORT = 16817, 16818

SLURM_CONF = """\
ClusterName=dse
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmctldPort={control}
SlurmdPort={node}
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""

JOBQUEUE = """\
jobqueue:
  slurm:
    cores: 1
    processes: 1
    memory: 1GB
    interface: lo
    walltime: "00:10:00"
    log-directory: {folder}/jobs
    job-script-prologue: ["export SLURM_CONF={folder}/slurm.conf"]
"""

EVALUATED = """\
model   = "nbody"
machine = "balanced"
[given]
bodies         = 1e5
flops_per_pair = 10
[sweep.processors]
path = "given.processors"
start = 10
stop = 1e4
num = 1500
spacing = "log"
[sweep.memory]
path = "given.memory"
start = 10
stop = 1e4
num = 1500
spacing = "log"
"""

# a model that takes its time: 300 points of 20 ms, 15 chunks
SLOW = """
import sys, time, dse
from dse.sweeping.cluster.clusters import submitted
from dse.models.model import Model
from dse.quantities import Quantity

def equations(g):
    time.sleep(0.02 if g.size > 0 else 0.0)
    return {"time": g.size * 2.0}

dse.register(Model("slow", "takes its time", "", (), (Quantity("size", "n", "", "size"),),
                   (Quantity("time", "T", "s", "time"),), (), equations))
asked = {"model": "slow", "sweep": {"size": {"path": "given.size", "start": 1, "stop": 300, "num": 300}}}
if __name__ == "__main__":
    with submitted("slurm", 2) as client:
        dse.sweep(asked, sys.argv[1], client=client, progress=False, patience=120)
"""


def main() -> int:
    """Run all of it; 0 also where there is no SLURM to run it on."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--install", action="store_true", help=f"first apt-get install {' '.join(PACKAGES)}")
    if parser.parse_args().install:
        subprocess.run(["apt-get", "update", "-q"], check=True)
        told = ("-q", "-y", "--no-install-recommends")
        subprocess.run(["apt-get", "install", *told, *PACKAGES], check=True)
    lacking = [p for p in PROGRAMS if shutil.which(p) is None]
    if lacking or os.geteuid() != 0:
        why = f"there is no {', '.join(lacking)}" if lacking else "the daemons have to be started by root"
        print(f"skipped: {why}. On Debian, as root: python {sys.argv[0]} --install")
        return 0
    with tempfile.TemporaryDirectory(prefix="dse-slurm-") as name, slurm(Path(name)):
        for check in (a_sweep_by_the_command, a_cancelled_job, adaptive, a_killed_parent):
            began = time.monotonic()
            told = check(Path(name))
            print(
                f"ok  {check.__name__.replace('_', ' ')}: {told} ({time.monotonic() - began:.0f} s)",
                flush=True,
            )
    return 0


@contextlib.contextmanager
def slurm(folder: Path) -> Iterator[None]:
    """Start the daemons, and end them."""
    host = socket.gethostname()
    for part in ("state", "spool", "jobs", "dask"):
        (folder / part).mkdir()
    conf = folder / "slurm.conf"
    conf.write_text(SLURM_CONF.format(host=host, folder=folder, control=CONTROL_PORT, node=NODE_PORT))
    (folder / "dask" / "jobqueue.yaml").write_text(JOBQUEUE.format(folder=folder))
    os.environ |= {"SLURM_CONF": str(conf), "DASK_CONFIG": str(folder / "dask")}
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        if subprocess.run("munge -n | unmunge", shell=True, capture_output=True, check=False).returncode != 0:
            daemons.append(munge())
        daemons.append(subprocess.Popen(["slurmctld", "-D", "-f", conf], **QUIET))
        daemons.append(subprocess.Popen(["slurmd", "-D", "-f", conf], **QUIET))
        wait_for("an idle node", lambda: "idle" in said("sinfo", "-h", "-o", "%T"))
        print(f"SLURM {said('sinfo', '--version').split()[-1]} runs with one node of 2 CPUs", flush=True)
        yield
    finally:
        said("scancel", "--user", "root")
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait()


def munge() -> subprocess.Popen[bytes]:
    """Start the authentication service in the foreground, with the key that its package made."""
    for place, mode in (("/run/munge", 0o755), ("/var/log/munge", 0o700), ("/var/lib/munge", 0o711)):
        Path(place).mkdir(exist_ok=True)
        shutil.chown(place, "munge", "munge")
        Path(place).chmod(mode)
    made = subprocess.Popen(
        ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", "munged", "-F"], **QUIET
    )
    check = ("munge -n | unmunge",)
    wait_for(
        "munge", lambda: not subprocess.run(*check, shell=True, capture_output=True, check=False).returncode
    )
    return made


def said(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def jobs(state: str = "PD,R,CG") -> list[str]:
    """Numbers of the jobs that wait, run or end."""
    return said("squeue", "-h", "-t", state, "-o", "%i").split()


def wait_for(what: str, so: Callable[[], object], seconds: float = 90) -> None:
    """Wait until something is so; TimeoutError where it does not come about."""
    ends = time.monotonic() + seconds
    while not so():
        if time.monotonic() > ends:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.2)


def done(store: Path) -> int:
    """Return how many chunks of a store are done."""
    return len(results.stores.store.done(store)) if store.exists() else 0


def right(store: Path) -> None:
    """Check a store of the slow model, value for value."""
    found = dse.open(store).load()
    assert (found["status"].values == 6).all(), "every point is answered"
    np.testing.assert_array_equal(found["time"].values, 2 * found["size"].values)
    assert results.stores.store.verify(store) == {}, "every chunk is what was written"


def start_slow(folder: Path, store: Path) -> subprocess.Popen[bytes]:
    """Start a sweep of the slow model on two jobs."""
    script = folder / "slow.py"
    script.write_text(SLOW)
    return subprocess.Popen([sys.executable, str(script), str(store)], cwd=folder)


def evaluated(folder: Path, store: str, *options: str) -> None:
    """Evaluate a grid by the command on the cluster and compare it with this process."""
    file = folder / "evaluated.toml"
    file.write_text(EVALUATED)
    command = (sys.executable, "-m", "dse", "evaluate", str(file), "-o", store, "--metrics", "time,energy")
    subprocess.run(
        [*command, "--cluster", "slurm", *options], cwd=folder, check=True, stderr=subprocess.DEVNULL
    )
    found, here = dse.open(folder / store), dse.evaluate(file, metrics=["time", "energy"])
    for name in ("time", "energy"):
        np.testing.assert_allclose(found[name].values, here[name].values, rtol=1e-14)
    wait_for("the end of all jobs", lambda: not jobs(), 30)


def a_sweep_by_the_command(folder: Path) -> str:
    """dse evaluate --cluster slurm --jobs 2."""
    evaluated(folder, "two.zarr", "--jobs", "2")
    scripts = len(list((folder / "jobs").iterdir()))
    assert scripts >= 2, "two jobs left their logs"
    return f"{done(folder / 'two.zarr')} chunks, the same numbers as here, no job left"


def adaptive(folder: Path) -> str:
    """dse evaluate --cluster slurm --adapt 0:2."""
    evaluated(folder, "adapted.zarr", "--adapt", "0:2")
    return f"{done(folder / 'adapted.zarr')} chunks by jobs that came when there was work, no job left"


def a_cancelled_job(folder: Path) -> str:
    """One of two jobs is cancelled in the middle."""
    store = folder / "cancelled.zarr"
    process = start_slow(folder, store)
    wait_for("two jobs at work", lambda: len(jobs("R")) == 2 and done(store) >= 2)
    before, victim = done(store), jobs("R")[0]
    said("scancel", victim)
    assert process.wait(timeout=180) == 0, "the sweep goes on"
    right(store)
    wait_for("the end of all jobs", lambda: not jobs(), 30)
    return f"job {victim} cancelled after {before} of {done(store)} chunks; all points right, no job left"


def a_killed_parent(folder: Path) -> str:
    """The sweep itself is killed: its jobs end by themselves, and the same call continues."""
    store = folder / "killed.zarr"
    process = start_slow(folder, store)
    wait_for("two jobs at work", lambda: len(jobs("R")) == 2 and done(store) >= 2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    began = time.monotonic()
    wait_for("the end of all jobs", lambda: not jobs(), 120)
    ended, kept = time.monotonic() - began, done(store)
    assert start_slow(folder, store).wait(timeout=180) == 0, "the same call continues"
    right(store)
    return f"jobs gone {ended:.0f} s after kill -9 with {kept} chunks done; continued, all points right"


if __name__ == "__main__":
    sys.exit(main())

"""Cheap real questions, and ways to run the command in processes of their own."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import evaluated_grid
import psutil
import pytest

from solvers import many_points

ROOT = Path(__file__).parents[2]
HOOKS = str(ROOT / "tests" / "crash" / "hooks")
HOOKED = os.pathsep.join([HOOKS, str(ROOT)])


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> None:
    """Let children hear Ctrl-C even where this run was started in the background, which ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


DEADLINE = """
title   = "Least energy of an n-body step within a deadline"
model   = "nbody"
machine = "balanced"

[given]
bodies         = 1e5
flops_per_pair = 10

[decide]
processors = { max = 65536 }
memory     = {}

[objective]
minimize = "energy"

[limits]
time = { max = "1 s" }
"""

AXES = """
[sweep.deadline]
path    = "limits.time.max"
start   = "1 ms"
stop    = "10 s"
num     = DEADLINES
spacing = "log"

[sweep.bodies]
path   = "given.bodies"
values = [1e4, 1e5, 1e6]
"""

FRONT = DEADLINE.replace('"energy"', '["energy", "time"]').replace('time = { max = "1 s" }', "")


@pytest.fixture
def deadline(tmp_path: Path) -> Path:
    """A question with one answer."""
    file = tmp_path / "deadline.toml"
    file.write_text(DEADLINE)
    return file


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grids go point by point, here and in processes that are started, so that small ones have several chunks."""
    monkeypatch.setattr("dse.sweeping.points.chunk_work.paths.chosen", lambda grid: many_points.Choice())
    monkeypatch.setenv("ONE_BY_ONE", "1")
    monkeypatch.setenv("PYTHONPATH", HOOKED)
    # helper processes get the path of this one
    monkeypatch.syspath_prepend(HOOKS)


@pytest.fixture
def grid_file(tmp_path: Path, one_by_one: None) -> Callable[[int], Path]:
    """A sweep over so many deadlines, some out of reach, and three problem sizes; its points go one by one."""

    def make(deadlines: int) -> Path:
        file = tmp_path / "grid.toml"
        file.write_text(DEADLINE + AXES.replace("DEADLINES", str(deadlines)))
        return file

    return make


@pytest.fixture
def front_file(tmp_path: Path) -> Path:
    """Energy against time."""
    file = tmp_path / "front.toml"
    file.write_text(FRONT)
    return file


def environment() -> dict[str, str]:
    path = HOOKED if "ONE_BY_ONE" in os.environ else str(ROOT)
    return {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}


def slowed(pause: float, hold: int) -> dict[str, str]:
    """Environment in which chunks of a sweep wait so many seconds before they are written, or for ever after some."""
    return {**environment(), "PYTHONPATH": HOOKED, "CHUNK_PAUSE": str(pause), "CHUNK_HOLD": str(hold)}


@pytest.fixture
def surroundings() -> dict[str, str]:
    """Environment in which a Python process finds this dse."""
    return environment()


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run Python with arguments from an empty folder."""

    def python(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment(),
            timeout=240,
            check=False,
            **options,
        )

    return python


@pytest.fixture
def start(tmp_path: Path):
    """Start the command in a process group of its own; what is left of it is killed at the end.

    ``pause``: seconds that each chunk waits before it is written; ``hold``: so many chunks are written, and no more.
    """
    started = []

    def dse(*arguments: str, pause: float = 0, hold: int = 0) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "dse", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=slowed(pause, hold) if pause or hold else environment(),
            start_new_session=True,
        )
        started.append(process)
        return process

    yield dse
    for process in started:
        for left in helpers(process.pid):
            left.kill()
        if process.poll() is None:
            process.kill()
        process.communicate()


def helpers(pid: int) -> list[psutil.Process]:
    """The worker processes of a running command."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def wait_for(what: Callable[[], object], seconds: float = 120) -> object:
    """Wait until something is so; fail where it does not come about."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


@pytest.fixture
def waiting() -> Callable[..., object]:
    return wait_for


@pytest.fixture
def workers_of() -> Callable[[int], list[psutil.Process]]:
    return helpers


@pytest.fixture
def evaluated(tmp_path: Path) -> Path:
    file = tmp_path / "evaluated.toml"
    file.write_text(evaluated_grid.evaluated(40, 30))
    return file


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start a browser for pages from disk: one for all tests of a process, each of which opens its own page.

    Whatever the file, the browser has it at one address, where it compiles the script that all pages hold only once.
    """
    if not (CHROMIUM and DRIVER):
        pytest.skip("needs Chromium and ChromeDriver (Debian: chromium, chromium-driver)")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    at = tmp_path_factory.mktemp("browser") / "page.html"

    class Browser(webdriver.Chrome):
        def get(self, url: str) -> None:
            # away from the page before: nothing of it is taken over
            super().get("about:blank")
            shutil.copy(url2pathname(urlsplit(url).path), at)
            super().get(at.as_uri())

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "enable-unsafe-swiftshader", "no-first-run", "disable-sync",
        "disable-quic", "disable-background-networking", "disable-component-update", "window-size=1300,2400",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = Browser(options=options, service=Service(DRIVER))
    yield started
    started.quit()


@pytest.fixture
def plain_browser(browser: Any) -> Iterator[Any]:
    """Have a browser as some readers do; parallel axes, which need WebGL, take longer here than all else on a page."""
    none = """const context = HTMLCanvasElement.prototype.getContext;
      HTMLCanvasElement.prototype.getContext = function (kind, ...how) {
        return kind.includes("webgl") ? null : context.call(this, kind, ...how); };"""
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": none})
    yield browser
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)

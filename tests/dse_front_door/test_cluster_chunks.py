"""What travels between a sweep and its workers."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import KilledWorker

import dse
import results.stores.store
from dse.sweeping import dispatch
from dse.sweeping.points import chunk_work
from results.stores.files.trouble import explained


class Inline:
    """A client that computes what it is handed at once, and remembers it."""

    status = "running"

    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []

    @property
    def scheduler(self) -> "Inline":
        return self

    def scheduler_info(self, n_workers: int) -> dict[str, int]:
        assert n_workers == 0
        return {"n_workers": 1, "total_threads": 1}

    def run(self, *arguments: Any, on_error: str) -> dict[str, None]:
        return {}

    def subscribe_topic(self, topic: str, handler: Any) -> None:
        self.topic = topic

    def unsubscribe_topic(self, topic: str) -> None:
        assert topic == self.topic

    def register_plugin(self, plugin: Any, name: str) -> None:
        assert name == self.topic

    def unregister_worker_plugin(self, name: str) -> None:
        assert name == self.topic

    def sync(self, asked: Any, keys: list[str]) -> dict[str, str]:
        return asked(keys)

    def get_task_status(self, keys: list[str]) -> dict[str, str]:
        return dict.fromkeys(keys, "memory")

    def submit(self, function: Any, *arguments: Any, pure: bool = False, key: str = "") -> Any:
        assert not pure
        if key:
            assert function is str
            return Now(key)
        self.sent.append((function, *(a for a in arguments if not isinstance(a, Now))))
        return Now(function(*(a.value if isinstance(a, Now) else a for a in arguments)))

    def map(self, function: Any, *columns: Any, pure: bool) -> list[Any]:
        return [self.submit(function, *row, pure=pure) for row in zip(*columns, strict=True)]


class Now:
    status = "finished"

    def __init__(self, value: Any) -> None:
        self.value = value

    def add_done_callback(self, told: Any) -> None:
        told(self)

    def release(self) -> None:
        pass

    def result(self, timeout: float) -> Any:
        return self.value


def test_nothing_big_travels_with_a_chunk(evaluated: Path):
    """The study goes out once; what goes with each chunk is a function's name and an index."""
    asked = dse.load(evaluated)
    client, study = Inline(), chunk_work.Study("# much text\n" * 100_000 + asked.text, asked.file, (10, 10))
    todo = [(i, j) for i in range(4) for j in range(3)]
    found = list(dispatch.through_dask(client, None, study, todo))
    assert sorted(f.index for f in found) == todo
    sizes = [len(pickle.dumps(sent)) for sent in client.sent]
    assert sizes[0] > len(study.text)
    assert len(sizes) == 1 + len(todo)
    assert max(sizes[1:]) < 200


AXES = """
[sweep]
deadline = { path = "limits.time.max", start = "1 ms", stop = "10 s", num = 6, spacing = "log" }
bodies = { path = "given.bodies", values = [1e4, 1e5, 1e6, 1e7] }
"""


class Deadly(Inline):
    """A client whose workers die at what ``kills`` says."""

    def __init__(self, kills: Callable[[Any, Any], bool]) -> None:
        super().__init__()
        self.kills = kills

    def submit(self, function: Any, *arguments: Any, pure: bool = False, key: str = "") -> Any:
        if function in {dispatch.solve_chunk, dispatch.solve_part} and self.kills(function, arguments[-1]):
            return Killed(None)
        return super().submit(function, *arguments, pure=pure, key=key)


class Killed(Now):
    status = "error"

    def result(self, timeout: float) -> Any:
        raise KilledWorker("chunk", None, 3)


def killed_once() -> Callable[[Any, Any], bool]:
    deaths = iter([True, False])
    return lambda _, index: index == (0, 1) and next(deaths)


def killed_by(point: tuple[int, ...]) -> Callable[[Any, Any], bool]:
    def kills(function: Any, part: Any) -> bool:
        if function is dispatch.solve_chunk:
            return bool(part == (0, 1))
        return all(s.start <= i < s.stop for i, s in zip(point, part, strict=True))

    return kills


@pytest.mark.parametrize(
    ("kills", "lost"),
    [
        (killed_once, None),
        (lambda: killed_by((-1, -1)), None),
        (lambda: killed_by((3, 2)), (3, 0)),
    ],
)
def test_a_chunk_whose_workers_died_has_the_numbers_of_an_undisturbed_one(
    kills: Any, lost: tuple[int, ...] | None, deadline: Path, caplog: pytest.LogCaptureFixture
):
    """Each point that does not kill a worker has them bit for bit, however the chunk was divided."""
    deadline.write_text(deadline.read_text() + AXES)
    asked = dse.load(deadline)
    study = chunk_work.Study(asked.text, asked.file, (6, 2))
    todo = [(0, 0), (0, 1)]
    whole = {i: chunk_work.solve_chunk(study, i).arrays for i in todo}
    found = {f.index: f.arrays for f in dispatch.through_dask(Deadly(kills()), None, study, todo)}
    assert "tried once more" in caplog.text
    for index in todo:
        for name, values in whole[index].items():
            mine = found[index][name]
            same = np.array(mine == values) | (
                (values.dtype.kind == "f") and np.isnan(values) & np.isnan(mine)
            )
            if lost is not None and index == (0, 1):
                same[lost] = True
            assert name == "seconds" or same.all(), name
    if lost is not None:
        assert found[0, 1]["status"][lost] == 5
        assert "died each time" in found[0, 1]["message"][lost]


def test_what_a_worker_says_of_a_store_that_is_gone_arrives_whole(
    tmp_path: Path, evaluated: Path, monkeypatch: pytest.MonkeyPatch
):
    # Zarr's own exception, which stands behind it, cannot be unpickled
    import zarr
    from distributed.core import error_message

    def gone_meanwhile(*what: object) -> None:
        with explained("gone.zarr", "read"):
            zarr.open_group(tmp_path, mode="r")

    monkeypatch.setattr(chunk_work, "solved", gone_meanwhile)
    asked = dse.load(evaluated)
    with pytest.raises(results.stores.store.StoreError) as raised:
        chunk_work.solve_chunk(chunk_work.Study(asked.text, asked.file, (10, 10)), (0, 0))
    arrived = pickle.loads(error_message(raised.value)["exception"].data)
    assert isinstance(arrived, results.stores.store.StoreError)
    assert "gone.zarr" in str(arrived)

"""Stores where writing fails: disks that are full, targets that are read-only, addresses where nothing can be kept."""

import io
import os
import random
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_filling import IDENTITY, WRITER, Fill, fill, start

from results import dataset
from results.dataset import Layout
from results.export.spilling import Spilling
from results.stores import store
from results.stores.store import StoreError

NO_CODE_IS_KEPT = "import sys\nsys.dont_write_bytecode = True\n"
"""Else what is imported where files may not grow is kept cut off, and no other process can import it any more."""
pytestmark = pytest.mark.usefixtures("warnings_are_errors")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own of 1 MB."""
    target = tmp_path / "disk"
    target.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(target)], check=False, capture_output=True
    )
    if not mounted or mounted.returncode:
        pytest.skip("mounting needs privileges")
    yield target
    subprocess.run(["umount", str(target)], check=True)


def occupy(file: Path) -> None:
    with file.open("wb", buffering=0) as ballast:
        while True:
            ballast.write(bytes(1024))


def test_a_full_disk_is_reported_and_what_was_stored_stays(small_disk: Path, plan: Layout, arrays_of: Fill):
    path = small_disk / "study.zarr"
    fill(path, plan, arrays_of, most=2)
    with pytest.raises(OSError, match="No space"):
        occupy(small_disk / "ballast")
    with pytest.raises(StoreError, match=r"cannot write to .*study.zarr: the disk is full"):
        fill(path, plan, arrays_of)
    assert len(store.done(path)) >= 2
    assert store.verify(path) == {}
    with pytest.raises(StoreError, match=r"cannot create .*the disk is full"):
        store.create(small_disk / "other.zarr", plan, IDENTITY)
    assert not (small_disk / "other.zarr").exists()
    (small_disk / "ballast").unlink()
    fill(path, plan, arrays_of)
    assert store.verify(path) == {}
    assert (store.open(path).status != 0).all()


def test_a_read_only_target_is_reported_and_can_still_be_read(
    small_disk: Path, plan: Layout, arrays_of: Fill
):
    path = small_disk / "study.zarr"
    fill(path, plan, arrays_of, most=1)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert (store.open(path).status != 0).any()
    assert store.create(path, plan, IDENTITY) == (10, 2)
    with pytest.raises(StoreError, match="read-only; choose a path that can be written"):
        fill(path, plan, arrays_of)
    with pytest.raises(StoreError, match=r"cannot create .*read-only"):
        store.create(small_disk / "other.zarr", plan, IDENTITY)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_permission_is_reported(tmp_path: Path, plan: Layout):
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(StoreError, match="no permission"):
        store.create(tmp_path / "locked" / "study.zarr", plan, IDENTITY)


def test_a_file_size_limit_is_reported(tmp_path: Path, question: object, make_axis: type, make_grid: type):
    axis = make_axis("deadline", "limits.time.max", "s", "t", tuple(map(float, range(500))))
    other = make_axis("bodies", "bodies", "", "n", tuple(map(float, range(100))))
    plan = dataset.layout(make_grid((axis, other), question))
    limited = f"{NO_CODE_IS_KEPT}import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
    body = textwrap.indent(textwrap.dedent(WRITER), "    ").replace("PATH", repr(str(tmp_path / "s.zarr")))
    process = start(
        f"{limited}try:\n{body}\nexcept Exception as problem:\n    print(type(problem).__name__, problem)",
        plan,
        tmp_path,
    )
    printed, _ = process.communicate()
    assert printed.startswith("NoRoom cannot"), printed
    assert "exceed the size allowed" in printed


@pytest.mark.parametrize("lazy", [True, False])
def test_a_netcdf_file_that_does_not_fit_ends_in_one_line_and_leaves_nothing(
    lazy: bool, plan: Layout, arrays_of: Fill, tmp_path: Path
):
    fill(tmp_path / "study.zarr", plan, arrays_of)
    program = """
    import resource, sys
    import dse

    study = dse.open("study.zarr")
    if sys.argv[1] == "False":
        study.load()
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))
    try:
        dse.export(study, "made.nc")
    except Exception as problem:
        print(problem)
    """
    ended = subprocess.run(
        [sys.executable, "-c", NO_CODE_IS_KEPT + textwrap.dedent(program), str(lazy)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    said = "cannot write made.nc: a file would exceed the size allowed; what is stored stays valid\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, said, "")
    assert [f.name for f in tmp_path.iterdir()] == ["study.zarr"]


def test_a_file_that_spills_reads_back_whatever_was_written():
    dice, whole = random.Random(1), io.BytesIO()
    with Spilling(Path("/dev/full")) as file:
        for _ in range(300):
            data = dice.randbytes(dice.randrange(40))
            for one in (file, whole):
                one.seek(len(data) * 7)
                one.write(data)
            for one in (file, whole):
                one.seek(13)
            assert file.read(200) == whole.read(200)
        assert file.problem is not None

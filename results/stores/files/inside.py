"""Files of a store are inside it: neither a name in its metadata nor a link leads out, whoever made the store."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from dse.system.files import NOT_REGULAR


def is_inside(name: str) -> bool:
    """Tell whether a name is that of a file below a folder: relative, with "/" between plain parts."""
    return "\0" not in name and not {"", ".", ".."} & set(name.split("/"))


def readable(root: Path, name: str) -> Path:
    """Return the path of a file below a folder, which is missing, a regular file or a folder.

    Raises OSError where the name or a link leads out of the folder, or the file is none that ends (a pipe, a device).
    """
    file, mode = _followed(root, name)
    if mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise _refused(name, NOT_REGULAR)
    return file


def replaceable(root: Path, name: str) -> Path:
    """Return the path of a file below a folder that is to be replaced or removed, whatever it is itself.

    Raises OSError where the name or a link on the way to it leads out of the folder.
    """
    above, _, last = name.rpartition("/")
    if not is_inside(last):
        raise _refused(name, "not the name of a file inside a store")
    return (_followed(root, above)[0] if above else root) / last


def _followed(root: Path, name: str) -> tuple[Path, int | None]:
    """Return a path below a folder, and what kind of file is there (None: nothing)."""
    if not is_inside(name):
        raise _refused(name, "not the name of a file inside a store")
    at, mode = str(root), None
    for part in name.split("/"):
        at = f"{at}/{part}"
        try:
            mode = os.lstat(at).st_mode
            if stat.S_ISLNK(mode):
                # also one that leads nowhere: a file would be made there
                if not Path(at).resolve().is_relative_to(root.resolve()):
                    raise _refused(name, "a link leads out of the store")
                mode = Path(at).stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return root / name, None
        except PermissionError as problem:
            # it is the folder that may not be looked into
            raise PermissionError(problem.errno, problem.strerror, at.rpartition("/")[0]) from problem
    return root / name, mode


def _refused(name: str, why: str) -> OSError:
    # of no number that the system has
    return OSError(0, why, name)

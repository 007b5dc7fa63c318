"""One damage of each kind; `python tests/crash/damages.py 120` tries more of them."""

import time
from pathlib import Path

import damages
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return damages.sound(tmp_path_factory.mktemp("sound"))


# who root becomes for the last kind may not see the folders of the suite: `make crash` tries it
@pytest.mark.parametrize("kind", [k for k in damages.KINDS if k != "without_permission"])
def test_damage_is_noticed_and_repaired_to_the_bit(kind: str, tmp_path: Path, whole: Path):
    # another place each time; the message of a failure says which, and with which seed
    damages.tried(kind, whole, tmp_path, time.time_ns())

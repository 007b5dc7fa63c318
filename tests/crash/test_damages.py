"""One damage of each kind; `make crash` tries more of them, at random places."""

from pathlib import Path

import damages
import pytest

pytestmark = pytest.mark.slow
SEED = 1
"""The same in every run; `make crash` draws others."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return damages.sound(tmp_path_factory.mktemp("sound"))


# who root becomes for the last kind may not see the folders of the suite: `make crash` tries it
@pytest.mark.parametrize("kind", [k for k in damages.KINDS if k != "without_permission"])
def test_damage_is_noticed_and_repaired_to_the_bit(kind: str, tmp_path: Path, whole: Path):
    damages.tried(kind, whole, tmp_path, SEED)

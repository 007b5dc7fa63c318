"""``python -m dse.models [FOLDER]``: write the page of every model (to docs/models by default)."""

import sys
from pathlib import Path

from dse.models.described.pages import write

write(Path(*(sys.argv[1:] or ["docs/models"])))

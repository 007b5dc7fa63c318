"""``python -m dse.machines [FOLDER]``: derive machine parameters from the figures of every file anew."""

import sys
from pathlib import Path

from dse.machines.writing import write

write(Path(*(sys.argv[1:] or [str(Path(__file__).parent)])))

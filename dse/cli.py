"""The ``dse`` command: importing it is quiet about Ctrl-C, too."""

from __future__ import annotations

import atexit
import gc

from dse.system.streams import leaving_at_once

__all__ = ["main"]

# what is left at the end goes with the process: going through it takes a tenth of a short command's time
atexit.register(gc.freeze)

with leaving_at_once():
    from dse.commands.commandline import main

if __name__ == "__main__":
    main()

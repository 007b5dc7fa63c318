"""The ``dse`` command: importing it is quiet about Ctrl-C, too."""

from __future__ import annotations

from dse.system.streams import leaving_at_once

__all__ = ["main"]

with leaving_at_once():
    from dse.commands.commandline import main

if __name__ == "__main__":
    main()

"""Which dse this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("dse")
except PackageNotFoundError:
    # run from a checkout that nobody installed
    VERSION = "unknown"

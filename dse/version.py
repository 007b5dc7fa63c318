"""Which dse this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "codesign-dse"
"""What the package is called on an index; the command and the import are ``dse``."""

try:
    VERSION = version(DISTRIBUTION)
except PackageNotFoundError:
    # run from a checkout that nobody installed
    VERSION = "unknown"

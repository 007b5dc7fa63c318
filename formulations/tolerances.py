"""The tolerances that every answer keeps: what the word of a status rests on.

They are parts of what users are promised (``docs/certificates.md``). Numbers that only one numerical method needs stand
beside that method, with the reason. The gap at which an answer is optimal can be asked for in a file: its default is
``scenarios.question.OPTIMAL_GAP``.
"""

from dse.system.tolerance import LIMIT_HOLDS

HOLDS = LIMIT_HOLDS
SLACK = 0.9 * HOLDS
"""What an infeasibility proof gives way to every limit: less than ``HOLDS``, so that rounding cannot make it more."""
BINDS = 1e-7
"""A limit binds where its slack, relative to the limit, is at most this in size."""
TIE = 1e-9
"""Objectives that differ by at most this, relative, are equal: the order of ties decides between their designs."""
NEXT_TO = 1e-6
"""Relative distance from a value that a discrete variable may have, of what a search says of it."""

"""Functions of this paper by the lines that they answer."""

from __future__ import annotations

from dse.papers.choi2016.jetson import PAPER, name_of
from dse.papers.comparer import Answers

# ``row``: the whole line of a table; ``setting``: name of a setting of Tables I and IV
answers = Answers(PAPER, row=dict, setting=lambda row: row.get("id") or name_of(row))

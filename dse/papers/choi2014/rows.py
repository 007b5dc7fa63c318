"""Functions of this paper by the lines that they answer."""

from __future__ import annotations

from dse.papers.choi2014.formulas import platform
from dse.papers.choi2014.platforms import PAPER, Told, label
from dse.papers.comparer import Answers, Found
from dse.papers.sources import rounding

# of a line over the platforms of Table I: ``name`` in the table, ``label``, and its constants ``p``
answers = Answers(
    PAPER,
    name=lambda case: case["platform_id"],
    label=lambda case: label(case["platform_id"]),
    p=lambda case: platform(case["platform_id"]),
)


def near(line: str, ours: Told, **told: object) -> Found:
    """Return a number that must equal the print of a line to its last digit, or within the rounding of Table I."""
    paper = answers.printed(line)
    beyond = abs(ours.value - paper) > rounding(answers.text(line)) * abs(paper) and ours.slack
    remark = "within the rounding of Table I" if beyond else ""
    told = {"value": ours.value, **told}
    return Found(ours.value, slack=ours.slack / abs(paper), remark=remark, told=told)

"""Write questions_of_the_papers.md from questions_of_the_papers.csv: ``python docs/questions_of_the_papers.py``."""

import csv
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).with_name("questions_of_the_papers.csv")
PAGE = TABLE.with_suffix(".md")
PAPERS = {
    "demmel2013": "Demmel et al. 2013: perfect strong scaling",
    "choi2014": "Choi et al. 2014: candidate building blocks",
    "choi2016": "Choi and Vuduc 2016: voltage, frequency and the fast multipole method",
    "tang2017": "Tang et al. 2017: PeaPaw",
    "exabounds2012": "Stanley-Marbell 2012: ExaBounds",
}
HEAD = """# Questions of the papers

What the five papers ask about designs, in our words: {all} questions, of which {open} are left open or named as future
work. For {asked} of them there is a ready question (`dse scenarios NAME` shows it; `dse solve`, `dse sweep` or
`dse evaluate` answers it); for the other {not_asked} the table says why not. Each ready question lists at the head
of its file what it assumes beyond the paper.

This page is written from [questions_of_the_papers.csv](questions_of_the_papers.csv) by
`python docs/questions_of_the_papers.py`; a test reads every file named here. [The papers, reproduced](papers/README.md)
compares what the papers state.
"""


def rows() -> list[dict[str, str]]:
    """Return the questions, in the order of the table."""
    with TABLE.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def page() -> str:
    """Return the page as text."""
    found = rows()
    counts = {
        "all": len(found),
        "open": sum(r["kind"] == "left open" for r in found),
        "asked": sum(bool(r["scenarios"]) for r in found),
        "not_asked": sum(bool(r["reason"]) for r in found),
    }
    parts = [HEAD.format(**counts)]
    for paper, title in PAPERS.items():
        parts.append(
            f"\n## {title}\n\n| section | question | ready question, or why there is none |\n|---|---|---|\n"
        )
        parts += _lines([r for r in found if r["paper"] == paper])
    return "".join(parts)


def _lines(found: list[dict[str, str]]) -> Iterator[str]:
    for r in found:
        names = " ".join(f"`{name}`" for name in r["scenarios"].split())
        question = r["question"] + (" *(left open)*" if r["kind"] == "left open" else "")
        yield f"| {r['section']} | {question} | {names or r['reason']} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

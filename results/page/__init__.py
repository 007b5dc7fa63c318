"""One self-contained HTML page about an answer, a front or a sweep."""

from __future__ import annotations

from results.page.columns import Table, of_dataset
from results.page.document import Page, Section, check, html, save
from results.page.insides import Insides
from results.page.insides import of_solution as insides_of_solution

__all__ = [
    "Insides",
    "Page",
    "Section",
    "Table",
    "check",
    "html",
    "insides_of_solution",
    "of_dataset",
    "save",
]

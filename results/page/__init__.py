"""One self-contained HTML page about an answer, a front or a sweep."""

from __future__ import annotations

from results.page.columns import Table as Table
from results.page.columns import of_dataset as of_dataset
from results.page.document import Page as Page
from results.page.document import Section as Section
from results.page.document import html as html
from results.page.document import save as save
from results.page.insides import Insides as Insides
from results.page.insides import of_solution as insides_of_solution

__all__ = ["Insides", "Page", "Section", "Table", "html", "insides_of_solution", "of_dataset", "save"]

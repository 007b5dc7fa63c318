"""One self-contained HTML page about an answer, a front or a sweep."""

from __future__ import annotations

from results.page.columns import Table as Table
from results.page.columns import of_dataset as of_dataset
from results.page.document import Page as Page
from results.page.document import Section as Section
from results.page.document import html as html
from results.page.document import save as save

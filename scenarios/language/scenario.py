"""A scenario: one question as the user wrote it, with the text it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenarios.language.errors import ScenarioError
from scenarios.language.machine_files import pins
from scenarios.language.part_schema import schema
from scenarios.language.parts import Mistakes
from scenarios.language.schema import Shape, flattened
from scenarios.language.shape import problems_of
from scenarios.language.tables import Tables
from scenarios.language.toml_text import plain, to_toml

NAMELESS = "scenario"


class Scenario(Shape):
    """One question about a machine and an algorithm, as written in a scenario file.

    Made by ``load`` from a file or mapping, or directly from keywords shaped like the file. Raises
    ScenarioError where the keywords do not have that shape; what the names mean is checked when the
    question is asked.
    """

    _text: str | None
    _file: str
    _tables: Tables
    _reads: tuple[str, ...]

    def __init__(self, **data: Any) -> None:
        data = plain(data)
        self.__dict__.update(_text=None, _file=NAMELESS, _tables={}, _reads=())
        try:
            super().__init__(**data)
        except Mistakes as error:
            told = problems_of(error, flattened(data), NAMELESS)
            raise ScenarioError(dict.fromkeys(p for _, p in told)) from None

    def __eq__(self, other: object) -> bool:
        """Tell whether two scenarios say the same, in whatever file, order or layout; see ``dse.diff`` for meaning."""
        if not isinstance(other, Scenario):
            return NotImplemented
        return self.model_dump() == other.model_dump() and pins(self.text) == pins(other.text)

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        """Return the scenario as HTML, for notebooks; all text is escaped, nothing from a file becomes markup."""
        import html

        title = f"<h4>{html.escape(self.title)}</h4>" if self.title else ""
        return f'<div class="dse-scenario">{title}<pre>{html.escape(self.text)}</pre></div>'

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of a scenario."""
        return schema(Shape)

    @property
    def file(self) -> str:
        """The file it came from, for messages; "scenario" where there is none."""
        return self._file

    @property
    def tables(self) -> Tables:
        """The tables whose rows it sweeps, by the names that stand in its text."""
        return self._tables

    @property
    def reads(self) -> tuple[str, ...]:
        """The paths of all files that it was read from: its own, and those of machines, models and tables."""
        return self._reads

    @property
    def text(self) -> str:
        """The text of the file, or equivalent TOML where the scenario was made in Python."""
        if self._text is None:
            return to_toml(self.model_dump(exclude_defaults=True, exclude_none=True))
        return self._text

    @property
    def hash(self) -> str:
        """The SHA-256 of ``text``, as hexadecimal digits."""
        import hashlib  # loads OpenSSL

        return hashlib.sha256(self.text.encode()).hexdigest()


def scenario(
    data: Mapping[str, Any], file: str, text: str | None, tables: Tables, reads: tuple[str, ...] = ()
) -> Scenario:
    """Make a scenario that remembers where it came from; raises ScenarioError as ``Scenario`` does."""
    made = Scenario(**data)
    made.__dict__.update(_file=file, _text=text, _tables=tables, _reads=reads)
    return made

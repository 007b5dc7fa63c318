"""Write the pages of this folder that are read off the program: ``python docs/reference/generate.py``."""

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

MADE = "<!-- made by `make docs`: changes here are lost -->"


def commands() -> str:
    """Return the page of all commands, from what ``--help`` says."""
    from dse.cli import main

    context = click.Context(main, info_name="dse")
    parts = ["# Commands", MADE, _prose(main.help), *_options(main, context)]
    for name, command in main.commands.items():
        inner = click.Context(command, info_name=name, parent=context)
        usage = command.get_usage(inner).removeprefix("Usage: ")
        parts += [f"## dse {name}", f"    {usage}", _prose(command.help), *_options(command, inner)]
    return "\n\n".join(parts) + "\n"


def _prose(text: str | None) -> str:
    # click's \b keeps the lines of a paragraph as they are: such a paragraph is code here
    paragraphs = textwrap.dedent(text or "").strip().split("\n\n")
    return "\n\n".join(
        textwrap.indent(p.split("\b\n", 1)[1], "    ") if "\b\n" in p else _plain(p) for p in paragraphs
    )


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    rows = [found for p in command.params if (found := p.get_help_record(context)) is not None and found[1]]
    if rows:
        yield _table(("option", "means"), [(f"`{option}`", _plain(said)) for option, said in rows])


def keys() -> str:
    """Return the page of all keys of a scenario file, from its schema."""
    from scenarios import json_schema

    schema = json_schema()
    parts = ["# Keys of a scenario file", MADE, KEYS, "## The file", _keys(schema)]
    for name, part in schema["$defs"].items():
        parts += [f"## {WHERE[name]}", part["description"], _keys(part)]
    return "\n\n".join(parts) + "\n"


KEYS = """What `dse schema` prints for editors, as tables. [The scenario language](../scenarios.md) explains each
with an example; which names stand under `[given]`, `[decide]` and `[limits]` is the
model's matter (`dse models MODEL`)."""
WHERE = {
    "Bounds": "[limits] NAME = { … }",
    "Decide": "[decide] NAME = { … }",
    "Drawing": "[uncertain.sampling]",
    "Front": "[objective.front]",
    "Goal": "[objective]",
    "Judging": "[objective.measures] NAME = { … }",
    "KernelEntry": "[[kernels]]",
    "Searching": "[search]",
    "Spread": "[uncertain] NAME = { … }",
    "Sweep": "[sweep.NAME]",
    "Uncertainty": "[uncertain]",
}


def _keys(part: Mapping[str, Any]) -> str:
    required = part.get("required", ())
    rows = [
        (f"`{key}`", _kinds(said), _default(key in required, said), _plain(said.get("description", "")))
        for key, said in part["properties"].items()
    ]
    return _table(("key", "value", "unless set", "means"), rows)


def _kinds(said: Mapping[str, Any]) -> str:
    if "enum" in said:
        return " or ".join(f"`{value}`" for value in said["enum"])
    if "$ref" in said or said.get("type") == "object":
        return "table"
    words = {"string": "text", "boolean": "true or false", "array": "list", "null": ""}
    found = [_kinds(x) for x in said["anyOf"]] if "anyOf" in said else [said.get("type", "")]
    return " or ".join(dict.fromkeys(w for x in found if (w := words.get(x, x))))


def _default(required: bool, said: Mapping[str, Any]) -> str:
    if required:
        return "needed"
    value = said.get("default")
    return (
        "" if value in (None, "", {}, []) else f"`{str(value).lower() if isinstance(value, bool) else value}`"
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("<", "\\<").replace("*", "\\*")


def machines() -> str:
    """Return the page of all machines of the catalogue: what each is, what it serves, and its main figures."""
    from dse.machines import every, serving

    found = [(m, serving.serves(m)) for m in every()]
    rows = [
        (
            f"[{m.name}](../machines/{m.name}.md)",
            m.title,
            str(m.year or ""),
            *_rates(m),
            ", ".join(served) or "–",
        )
        for m, served in found
    ]
    head = ("machine", "description", "year", "flop rate", "memory bandwidth", "power", "models")
    lacking = [
        (f"`{m.name}`", "; ".join(f"{model}: {', '.join(names)}" for model, names in near))
        for m, served in found
        if not served
        and (near := [(k, v) for k, v in serving.missing(m).items() if len(v) <= 3 and v != ("settings",)])
    ]
    told = [_table(head, rows), "## Machines that lack parameters for every model", LACKING]
    return "\n\n".join(["# Machines", MADE, MACHINES, *told, _table(("machine", "lacks"), lacking)]) + "\n"


MACHINES = """The page of a machine, or `dse machines NAME`, shows every value with its evidence, its source and, where it is derived, the interval in which
it lies; [Machine files](../machine_files.md) explains them. Rates are the reciprocals of `time_per_flop` and `time_per_byte`; power is the
sum of constant and usable power."""  # noqa: E501
LACKING = """A scenario can supply what is missing: `machine = { base = "…", constant_power = "…" }`. Models for which more than three
parameters are missing are left out here."""  # noqa: E501


def _rates(machine: Any) -> tuple[str, str, str]:
    from dse.quantities import show

    p = machine.parameters
    power = [p[n] for n in ("constant_power", "usable_power") if n in p]
    return (
        show(1 / p["time_per_flop"], "flop/s", 4) if p.get("time_per_flop") else "",
        show(1 / p["time_per_byte"], "byte/s", 4) if p.get("time_per_byte") else "",
        show(sum(power), "W", 4) if len(power) == 2 else "",
    )


PAGES = {"commands.md": commands, "keys.md": keys, "machines.md": machines}

if __name__ == "__main__":
    from dse.machines.pages import write

    for page, make in PAGES.items():
        (Path(__file__).parent / page).write_text(make(), encoding="utf-8")
    write(Path(__file__).parents[1] / "machines")

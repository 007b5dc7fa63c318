"""Commands that list what there is and start something new: models, machines, scenarios, new, schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from dse.door import ANSWERED, WRONG, complain, folder_for
from dse.terminal import say, say_json, show, table

if TYPE_CHECKING:
    from rich.console import RenderableType

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, numbers in SI units.")


@click.command()
@click.argument("name", required=False)
@AS_JSON
def models(name: str | None, as_json: bool) -> int:
    """List the models, or show one."""
    from dse import models as catalogue

    if name is None:
        found = [*catalogue.every(), *map(catalogue.get, catalogue.fitted_names())]
        if as_json:
            say_json({m.name: {"title": m.title, "source": m.source} for m in found})
        else:
            show(table(("model", "what it costs", "source"), [(m.name, m.title, m.source) for m in found]))
        for message in catalogue.broken():
            complain(f"dse: {message}")
        return ANSWERED
    model = catalogue.get(name)
    if as_json:
        from dse.model_pages import as_record

        say_json(as_record(model))
    else:
        from dse.model_pages import page

        show(page(model))
    return ANSWERED


@click.command()
@click.argument("name", required=False)
@AS_JSON
def machines(name: str | None, as_json: bool) -> int:
    """List the machines, or show one."""
    from dse import machines as catalogue
    from dse.models import machine_parameters
    from dse.quantities import show as text

    if name is None:
        found = list(catalogue.every())
        if as_json:
            say_json({m.name: {"title": m.title, "source": m.source} for m in found})
        else:
            show(table(("machine", "what it is", "source"), [(m.name, m.title, m.source) for m in found]))
        for message in catalogue.broken():
            complain(f"dse: {message}")
        return ANSWERED
    machine, known = catalogue.get(name), machine_parameters()
    if as_json:
        parameters = {
            n: {"value": v, "unit": known[n].unit, "source": machine.provenance[n]}
            for n, v in machine.parameters.items()
        }
        about = {"name": machine.name, "title": machine.title, "source": machine.source}
        more = {"doubts": dict(machine.doubts), "settings": [dict(s) for s in machine.settings]}
        say_json({**about, "notes": machine.notes, "parameters": parameters, **more})
        return ANSWERED
    rows = [
        (n, text(v, known[n].unit), _with_doubt(machine.provenance[n], machine.doubts.get(n, "")))
        for n, v in machine.parameters.items()
    ]
    say(f"{machine.name}: {machine.title}\nSource: {machine.source}")
    if machine.notes:
        say(machine.notes.strip())
    if rows:
        show(table(("parameter", "value", "source"), rows, frozenset({"value"})))
    if machine.settings:
        show(_settings(machine.settings))
    return ANSWERED


def _settings(menu: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Build the table of a machine's settings: clocks, voltages and constant power, unknown values empty.

    The energies would not fit on a line; ``--json`` has them.
    """
    from dse.machines.settings import QUANTITIES
    from dse.quantities import show as text

    names = [n for n in QUANTITIES if any(n in s for s in menu) and not n.startswith("energy")]
    rows = [
        (str(s["name"]), *(text(s[n], QUANTITIES[n].unit) if n in s else "" for n in names)) for s in menu
    ]
    heads = [n.replace("_", " ") for n in names]
    made: RenderableType = table(("setting", *heads), rows, frozenset(heads))
    return made


def _with_doubt(source: str, doubt: str) -> str:
    return f"{source} (doubtful: {doubt})" if doubt else source


@click.command()
@click.argument("name", required=False)
@AS_JSON
def scenarios(name: str | None, as_json: bool) -> int:
    """List the ready scenarios, or print one.

    Every command takes them by name.
    """
    import tomllib

    from dse.names import unknown
    from scenarios import library

    files = library()
    if name is not None:
        if name not in files:
            raise unknown("scenario of the library", name, files)
        text = files[name].read_text(encoding="utf-8")
        if as_json:
            data = tomllib.loads(text)
            about = {"name": name, "title": data.get("title", ""), "command": _command(data)}
            say_json({**about, "scenario": data, "text": text})
        else:
            say(text.rstrip())
        return ANSWERED
    read = {n: tomllib.loads(f.read_text(encoding="utf-8")) for n, f in files.items()}
    if as_json:
        say_json({n: {"title": d.get("title", ""), "command": _command(d)} for n, d in read.items()})
    else:
        rows = [(n, str(d.get("title", "")), _command(d)) for n, d in read.items()]
        show(table(("scenario", "what it asks", "command"), rows))
    return ANSWERED


def _command(data: dict[str, object]) -> str:
    """Which command a scenario is for."""
    goal = data.get("objective")
    several = isinstance(goal, dict) and sum(len(v) for v in goal.values() if isinstance(v, list)) > 1
    return "front" if several else "sweep" if data.get("sweep") else "solve"


@click.command()
@click.argument("model")
@click.option("-o", "--output", metavar="FILE", help="Where to write it (default: MODEL.toml; - prints it).")
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
def new(model: str, output: str | None, force: bool) -> int:
    """Write a scenario for MODEL to start from."""
    from results.storage import local
    from scenarios import template

    text = template(model)
    if output == "-":
        say(text.rstrip())
        return ANSWERED
    file = local(output or f"{model}.toml")
    folder_for(file)
    try:
        with file.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        complain(f"dse: {file} exists; choose another name with -o, or replace it with --force")
        return WRONG
    say(f"Wrote {file}. Next: dse check {file}")
    return ANSWERED


@click.command()
def schema() -> int:
    """Print the JSON Schema of scenarios."""
    from scenarios import json_schema

    say_json(json_schema())
    return ANSWERED

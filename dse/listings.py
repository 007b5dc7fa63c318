"""Commands that list what there is and start something new: models, machines, scenarios, new, schema."""

from __future__ import annotations

import click

from dse.door import ANSWERED, WRONG, complain, folder_for
from dse.terminal import say, say_json, show, table

MACHINE = "machine"
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, numbers in SI units.")


@click.command()
@click.argument("name", required=False)
@AS_JSON
def models(name: str | None, as_json: bool) -> int:
    """List the models, or show one."""
    from dse import models as catalogue

    if name is None:
        found = list(catalogue.every())
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
@click.option(
    "--table",
    "columns",
    metavar="NAMES",
    help="Compare machines by figures or parameters, such as peak_fp32,memory_bandwidth.",
)
@AS_JSON
def machines(name: str | None, columns: str | None, as_json: bool) -> int:
    """List the machines and the models that each serves, or show one with what it lacks for the others."""
    from dse import machines as catalogue

    if columns is not None:
        from dse.machine_pages import compared, comparison

        if name is not None:
            raise click.UsageError("--table compares all machines: leave the NAME out")
        chosen = [n for n in (part.strip() for part in columns.split(",")) if n]
        if as_json:
            say_json(comparison(chosen))
        else:
            show(compared(chosen))
        return ANSWERED
    if name is None:
        from dse.machines import serving

        found = [(m, serving.serves(m)) for m in catalogue.every()]
        if as_json:
            told = {m.name: {"title": m.title, "source": m.source, "serves": n} for m, n in found}
            say_json(told)
        else:
            rows = [(m.name, m.title, " ".join(n) or "no model as it is") for m, n in found]
            show(table(("machine", "what it is", "serves"), rows))
        for message in catalogue.broken():
            complain(f"dse: {message}")
        return ANSWERED
    from dse.machine_pages import as_record, page

    machine = catalogue.get(name)
    if as_json:
        say_json(as_record(machine))
    else:
        show(page(machine))
    return ANSWERED


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
@click.option("--like", metavar="NAME", help="Of a machine: start from this one's values.")
def new(model: str, output: str | None, force: bool, like: str | None) -> int:
    """Write a scenario for MODEL to start from, or with "machine" in its place a machine file."""
    from dse.machines.starters import starter
    from results.storage import local
    from scenarios import template

    if like is not None and model != MACHINE:
        raise click.UsageError(f"--like starts a machine: dse new {MACHINE} --like {like}")
    text = starter(like or "") if model == MACHINE else template(model)
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
    say(f"Wrote {file}. Next: dse {'machines' if model == MACHINE else 'check'} {file}")
    return ANSWERED


@click.command()
def schema() -> int:
    """Print the JSON Schema of scenarios."""
    from scenarios import json_schema

    say_json(json_schema())
    return ANSWERED

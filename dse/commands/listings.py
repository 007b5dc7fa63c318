"""Commands that list what there is and start something new: models, machines, workloads, scenarios, new, schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from dse.commands.terminal import hints
from dse.commands.terminal.door import ANSWERED, WRONG, complain, folder_for
from dse.commands.terminal.options.common_options import AS_JSON
from dse.commands.terminal.printing import say, say_json, show, table
from dse.names import unknown
from results.stores.files.storage import local, write_text

if TYPE_CHECKING:
    from dse.machines import Machine
    from dse.workloads import Workload

MACHINE = "machine"


@click.command()
@click.argument("name", required=False)
@AS_JSON
def models(name: str | None, as_json: bool) -> int:
    """List the models, or show one."""
    from dse import models as catalogue

    if name is None:
        found = [*catalogue.every(), *map(catalogue.get, catalogue.fitted_names())]
        record = {m.name: {"title": m.title, "source": m.source} for m in found}
        rows = [(m.name, m.title, m.source) for m in found]
        return _show_listing(as_json, record, ("model", "title", "source"), rows, catalogue.broken())
    from dse.commands.terminal.model_pages import as_record, page

    model = catalogue.get(name)
    if as_json:
        say_json(as_record(model))
    else:
        show(page(model))
    return ANSWERED


def _show_listing(
    as_json: bool,
    record: Mapping[str, Any],
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    broken: Iterable[str] = (),
) -> int:
    """Print what there is, as JSON or as a table, and complain of what cannot be used."""
    if as_json:
        say_json(record)
    else:
        show(table(head, rows))
    for message in broken:
        complain(f"dse: {message}")
    return ANSWERED


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--table",
    "columns",
    metavar="NAMES",
    help="Compare machines by figures or parameters, such as peak_fp32,memory_bandwidth.",
)
@AS_JSON
def machines(names: tuple[str, ...], columns: str | None, as_json: bool) -> int:
    """List the machines and the models that each serves, or show one with what it lacks for the others.

    With --table several machines are compared, or all where none is named.
    """
    from dse import machines as catalogue

    if columns is not None:
        from dse.commands.terminal.machine_pages import compared, comparison

        chosen = [n for n in (part.strip() for part in columns.split(",")) if n]
        if as_json:
            say_json(comparison(chosen, names))
        else:
            show(compared(chosen, names))
        return ANSWERED
    if len(names) > 1:
        raise click.UsageError("several machines are compared: add --table peak_fp32,memory_bandwidth")
    if not names:
        from dse.machines import serving

        found = [(m, serving.serves(m)) for m in catalogue.every()]
        told = {m.name: {"title": m.title, "source": m.source, "serves": n} for m, n in found}
        rows = [(m.name, m.title, " ".join(n) or "no model as it is") for m, n in found]
        return _show_listing(as_json, told, ("machine", "title", "serves"), rows, catalogue.broken())
    from dse.commands.terminal.machine_pages import as_record, page

    machine = catalogue.get(names[0])
    if as_json:
        say_json(as_record(machine))
    else:
        show(page(machine))
        hints.tell(lambda: _tried_on(machine, names[0]))
    return ANSWERED


def _tried_on(machine: Machine, name: str) -> Sequence[str]:
    """Return a command that asks something of a machine: a ready question that it can be asked, or its file."""
    import tomllib

    from dse.machines import serving
    from scenarios import library

    served = serving.serves(machine)
    read = {ready: tomllib.loads(f.read_text(encoding="utf-8")) for ready, f in library().items()}
    fitting = [n for n, d in read.items() if d.get("model") in served and isinstance(d.get("machine"), str)]
    solved = [n for n in fitting if _command(read[n]) == "solve"]
    for ready in sorted(solved, key=lambda n: read[n]["machine"] != name):
        if _can_be_asked(ready, name):
            return ("solve", ready, "--machine", name)
    return ("new", MACHINE, "--like", name, "-o", "mine.toml")


def _can_be_asked(ready: str, machine: str) -> bool:
    """Whether a ready question can be asked of a machine: its settings may have gaps, its numbers break a rule."""
    from dse import api
    from scenarios import ScenarioError, grid

    try:
        grid(api.load(ready, machine)).question(())
    except ScenarioError:
        return False
    return True


@click.command()
@click.argument("name", required=False)
@AS_JSON
def workloads(name: str | None, as_json: bool) -> int:
    """List the workloads, or show one: kernels of the papers, counted, for [[kernels]]."""
    from dse import workloads as catalogue

    if name is None:
        found = list(catalogue.every())
        record = {w.name: {"title": w.title, "unit": w.unit, "source": w.source} for w in found}
        every = [(w.name, w.title, w.unit) for w in found]
        return _show_listing(as_json, record, ("workload", "title", "counted for"), every)
    asked = catalogue.get(name)
    rows = [(model, n, v) for model, given in asked.given.items() for n, v in given.items()]
    if as_json:
        inputs: dict[str, dict[str, Any]] = {}
        for model, n, v in rows:
            key = f"{model}.{n}"
            stated = {"value": v, "unit": _unit_of_input(model, n), "source": asked.provenance[key]}
            inputs.setdefault(model, {})[n] = stated
        about = {"name": asked.name, "title": asked.title, "unit": asked.unit, "source": asked.source}
        say_json({**about, "notes": asked.notes, "given": inputs, "doubts": dict(asked.doubts)})
        return ANSWERED
    say(f"{asked.name}: {asked.title}\nCounted for: {asked.unit}\nSource: {asked.source}")
    if asked.notes:
        say(asked.notes)
    show(
        table(
            ("model", "input", "value", "source"),
            [_workload_entry_row(asked, *row) for row in rows],
            frozenset({"value"}),
        )
    )
    return ANSWERED


def _unit_of_input(model: str, name: str) -> str:
    from dse import models as catalogue

    return catalogue.get(model).parameters()[name].unit


def _workload_entry_row(
    asked: Workload, model: str, name: str, value: float | str
) -> tuple[str, str, str, str]:
    from dse.quantities import show as text

    key = f"{model}.{name}"
    told = value if isinstance(value, str) else text(value, _unit_of_input(model, name))
    source, doubt = asked.provenance[key], asked.doubts.get(key, "")
    return model, name, told, f"{source} (doubtful: {doubt})" if doubt else source


@click.command()
@click.argument("name", required=False)
@AS_JSON
def scenarios(name: str | None, as_json: bool) -> int:
    """List the ready scenarios, or print one.

    Every command takes them by name.
    """
    import tomllib

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
            hints.tell(lambda: _call(name, _command(tomllib.loads(text))))
        return ANSWERED
    read = {n: tomllib.loads(f.read_text(encoding="utf-8")) for n, f in files.items()}
    record = {n: {"title": d.get("title", ""), "command": _command(d)} for n, d in read.items()}
    rows = [(n, str(d.get("title", "")), _command(d)) for n, d in read.items()]
    return _show_listing(as_json, record, ("scenario", "title", "command"), rows)


def _call(name: str, command: str) -> Sequence[str]:
    """Return the words of a command on a ready scenario, with a file to write where it needs one."""
    written = {"sweep": ("-o", f"{name}.zarr"), "front": ("-o", f"{name}.png")}
    return (command, name, *written.get(command, ()))


def _command(data: dict[str, object]) -> str:
    """Which command a scenario is for."""
    goal = data.get("objective")
    several = isinstance(goal, dict) and sum(len(v) for v in goal.values() if isinstance(v, list)) > 1
    if several or data.get("sweep"):
        return "front" if several else "sweep"
    return "uncertainty" if data.get("uncertain") and not _decided_now(goal, data.get("limits")) else "solve"


def _decided_now(goal: object, limits: object) -> bool:
    """Whether one design for all worlds is asked for (of an unresolved file; see ``dse.uncertain.worlds``)."""
    kept = [x for x in limits.values() if isinstance(x, dict)] if isinstance(limits, dict) else []
    measured = isinstance(goal, dict) and bool({"measure", "quantile", "cvar"} & goal.keys())
    return measured or any("probability" in x or x.get("worst") for x in kept)


@click.command()
@click.argument("model")
@click.option(
    "-o", "--output", metavar="FILE", help="File to write it to (without it, or with -, it is printed)."
)
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
@click.option("--like", metavar="NAME", help="Of a machine: start from this one's values.")
def new(model: str, output: str | None, force: bool, like: str | None) -> int:
    """Print a scenario for MODEL to start from, or a machine file (`dse new machine`); -o writes it to a file."""
    from dse.machines.starters import starter
    from scenarios import template

    if like is not None and model != MACHINE:
        raise click.UsageError(f"--like starts a machine: dse new {MACHINE} --like {like}")
    text = starter(like or "") if model == MACHINE else template(model)
    if output is None or output == "-":
        say(text.rstrip())
        like_it = ["--like", like] if like else []
        hints.tell(lambda: ("new", model, *like_it, "-o", "mine.toml"))
        return ANSWERED
    file = local(output)
    folder_for(file)
    if file.exists() and not force:
        complain(f"dse: {file} exists; choose another name with -o, or replace it with --force")
        return WRONG
    write_text(file, text)
    say(f"Wrote {file}. Next: dse {'machines' if model == MACHINE else 'check'} {file}")
    return ANSWERED


@click.command()
def schema() -> int:
    """Print the JSON Schema of scenarios."""
    from scenarios import json_schema

    say_json(json_schema())
    return ANSWERED

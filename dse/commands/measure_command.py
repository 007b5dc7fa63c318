"""The command that measures the machine it runs on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from dse.commands.terminal.door import ANSWERED, NO_ANSWER, WRONG, complain, folder_for
from dse.commands.terminal.printing import say, say_json
from dse.system.streams import INTERRUPTED
from results.stores.files.storage import spared, writable


@click.command()
@click.option(
    "-o",
    "--output",
    metavar="MACHINE",
    help="Machine file to write, such as here.toml; runs and a question go beside it.",
)
@click.option(
    "--quick", is_flag=True, help="Seconds instead of minutes: all threads, one size in each cache."
)
@click.option(
    "--threads",
    metavar="N,N",
    help="Numbers of threads (default: 1, 2, 4, ... all). The file is for the last.",
)
@click.option("--device", default="cpu", show_default=True, metavar="DEVICE", help="cpu, gpu, or gpu:1.")
@click.option(
    "--power",
    metavar="WATTS|FILE",
    help='Where no energy can be read: the power drawn, such as "65 W", or a meter\'s record, CSV of time and power.',
)
@click.option(
    "--from",
    "earlier",
    metavar="RUNS",
    help="Measure nothing: use the runs that an earlier call has written.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Write the machine file although the machine is noisy, and replace an existing one.",
)
@click.option("--name", help="Name of the machine (default: its processor's or GPU's).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, numbers in SI units.")
def measure(
    output: str | None,
    quick: bool,
    threads: str | None,
    device: str,
    power: str | None,
    earlier: str | None,
    force: bool,
    name: str | None,
    as_json: bool,
) -> int:
    """Measure this machine: flops, bytes and accesses a second, and energies where they can be read.

    Every repetition is kept in a file of runs. If the machine is too noisy, only the runs are written and the exit code
    is 3; --force then writes a machine file too.
    """
    if output and Path(output).suffix != ".toml":
        raise click.UsageError(
            f"{output}: a machine file's name ends in .toml, so that scenarios can name it"
        )
    if earlier and (quick or threads or device != "cpu"):
        raise click.UsageError("--from measures nothing: leave --quick, --threads and --device out")
    if output and Path(output).exists() and not force:
        complain(f"dse: {output} exists; choose another name with -o, or replace it with --force")
        return WRONG
    from dse.measuring import asking, summary

    if output:
        writable(output)
        spared([output], filter(None, (earlier,)))
    asked = asking.Asked(quick, asking.numbers(threads), device, power, name)
    found = asking.again(earlier, asked) if earlier else asking.take(asked, None if as_json else True)
    written: list[str] = []
    if output:
        folder_for(output)
        written = [str(w) for w in asking.save(found, output, force=force, earlier=earlier)]
    interrupted = not found.whole and not earlier
    if as_json:
        say_json(summary.record(found) | {"written": written})
    elif found.runs:
        say(summary.text(found))
        for line in _endings(output, written, earlier, asking.no_machine(found)):
            say(line)
    if interrupted:
        complain(f"interrupted after {len(found.runs)} runs{': they are kept' if written else ''}")
        return INTERRUPTED
    return NO_ANSWER if found.against and not force else ANSWERED


def _endings(output: str | None, written: list[str], earlier: str | None, never: str) -> Iterator[str]:
    """Say what was written, and what to do next; ``never``: why no machine file can be written of these runs."""
    yield from (f"Wrote {w}" for w in written)
    if output and output in written:
        question = next((w for w in written if w.endswith("-question.toml")), None)
        yield f"To look at it: dse machines {_path_with_folder(output)}"
        if question:
            page = Path(question).with_suffix(".html")
            yield f"A first question: dse solve {question}; as a page: dse report {question} -o {page}"
    elif not output:
        yield "Nothing was written. With -o here.toml, dse writes a machine file, the runs and a first question"
    else:
        runs = earlier or (written[0] if written else None)
        if never:
            yield f"{output} was not written: {never}"
        elif runs:
            again = f"dse measure --from {runs} -o {output} --force"
            yield f"{output} was not written. To write it with the noise stated in it: {again}"


def _path_with_folder(path: str) -> str:
    return path if "/" in path else f"./{path}"

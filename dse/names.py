"""Looking things up by name, with a word on what was probably meant, and telling some of many names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

# letters of a beginning that says which name was meant
_BEGINNING = 4
# names that a message lists
_MOST_NAMED = 40
# names with a part spelled alike that a message offers
_ALIKE_IN_PART = 4
# what the field calls our quantities too, in small letters; of several the known ones are named
_WORDS = {
    "energy_delay": ("edp", "ed", "et", "energy_delay_product", "energydelay", "energy*delay"),
    "performance": ("gflops", "tflops", "flops", "flop/s", "flops_per_second", "throughput", "speed", "rate"),
    "efficiency": ("gflops/w", "gflops_per_watt", "flops_per_watt", "perf_per_watt", "energy_efficiency"),
    "time": (
        "t",
        "runtime",
        "run_time",
        "latency",
        "delay",
        "duration",
        "seconds",
        "makespan",
        "execution_time",
    ),
    "energy": ("e", "joules", "energy_to_solution"),
    "power": ("watts", "average_power", "power_cap"),
    "cost": ("usd", "dollars", "tco", "price", "money"),
    "carbon": ("co2", "co2e", "emissions", "footprint", "gwp"),
    "order": ("n", "matrix_size", "matrix_order", "size", "dimension", "dim", "rank"),
    "bodies": ("n", "particles", "body_count"),
    "points": ("n", "size", "length", "samples"),
    "processors": ("p", "procs", "cores", "nodes", "ranks", "processes", "cpus", "gpus", "devices"),
    "memory": ("m", "mem", "ram", "memory_size", "memory_per_processor", "local_memory"),
    "intensity": ("ai", "arithmetic_intensity", "operational_intensity"),
    "flops": ("work", "operations", "ops", "flop"),
    "bytes": ("traffic", "q", "data"),
    "mtbf": ("mttf", "reliability"),
    "time_per_flop": ("gamma_t", "tau_flop"),
    "energy_per_flop": ("gamma_e", "epsilon_flop"),
    "usable_power": ("tdp", "delta_pi"),
    "start": ("from", "begin", "first"),
    "stop": ("to", "end", "last"),
    "num": ("count", "n", "steps", "number"),
    "spacing": ("scale", "space"),
    "tokens_per_second": ("throughput", "tps", "token_rate"),
    "requests_per_second": ("throughput", "qps", "rps"),
    "time_per_output_token": ("tpot", "itl", "time_per_token"),
    "time_to_first_token": ("ttft",),
    "prompt": ("input_tokens", "prompt_tokens", "context"),
    "output": ("generated", "output_tokens", "generated_tokens"),
    "layers": ("n_layers", "num_layers", "depth"),
    "hidden": ("d_model", "hidden_size"),
    "heads": ("n_heads", "num_heads"),
    "ffn": ("d_ff", "intermediate_size", "ffn_size"),
    "vocabulary": ("vocab", "vocab_size"),
    "sequence": ("seq_len", "sequence_length", "context"),
    "batch": ("batch_size", "concurrency"),
    "global_batch": ("gbs", "batch", "batch_size"),
    "micro_batch": ("mbs",),
    "data_parallel": ("dp",),
    "tensor_parallel": ("tp",),
    "pipeline_parallel": ("pp",),
    "repeat": ("count", "times", "calls"),
    "transformer_inference": ("inference", "serving", "llm"),
    "transformer_training": ("training", "llm"),
    "constant_power": ("pi1", "pi_1", "static_power", "idle_power"),
}


class UnknownName(KeyError):
    """No such name; the message says what was probably meant and what there is."""

    def __str__(self) -> str:
        return str(self.args[0])


def some_of(names: Sequence[str], most: int) -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'nbody'?"`` for the closest known names, or "" where nothing is close.

    Other words of the field ("EDP", "runtime") are known. Where none is spelled alike, names that begin with
    what was written are close, then those of which one part is spelled alike (``h101``: ``h100-sxm``).
    """
    known = list(known)
    close = [k for k in known if k.lower() == wrong.lower()]
    close = close or [k for k in known if wrong.lower() in _WORDS.get(k.rpartition(".")[2], ())][:2]
    close = close or difflib.get_close_matches(wrong, known, n=2, cutoff=0.6)
    if not close and len(wrong) >= _BEGINNING:
        close = [k for k in known if k.lower().startswith(wrong.lower())][:2]
    close = close or _with_a_part_alike(wrong.lower(), known)
    return f"; did you mean {' or '.join(repr(k) for k in close)}?" if close else ""


def _with_a_part_alike(wrong: str, known: Iterable[str]) -> list[str]:
    """A few names of parts joined by hyphens of which one is spelled like ``wrong``, those that begin with it first."""
    by_part: dict[str, list[str]] = {}
    for name in known:
        for part in name.lower().split("-") if "-" in name else ():
            by_part.setdefault(part, []).append(name)
    near = difflib.get_close_matches(wrong, by_part, n=2, cutoff=0.7)
    found = [
        (i, not name.lower().startswith(part), len(name), name)
        for i, part in enumerate(near)
        for name in by_part[part]
    ]
    return list(dict.fromkeys(name for *_, name in sorted(found)))[:_ALIKE_IN_PART]


def unknown(kind: str, wrong: str, known: Iterable[str]) -> UnknownName:
    """Build the error for a name that does not exist among ``known``; of more than 40 it names the first ones."""
    known = list(known)
    more = f", … ({len(known)} in all)" if len(known) > _MOST_NAMED else ""
    hint = did_you_mean(wrong, known) or f"; there are {', '.join(known[:_MOST_NAMED])}{more}"
    return UnknownName(f"no {kind} is called {wrong!r}{hint}")

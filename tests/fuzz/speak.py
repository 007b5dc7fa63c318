"""Say something more in a file: parts of the language that a mutation of what stands there seldom makes."""

import random
from typing import Any

Tree = dict[str, Any]
METRICS = (
    "time",
    "energy",
    "power",
    "performance",
    "cost",
    "carbon",
    "price",
    "forces.time",
    "machine.time_per_flop",
)
NUMBERS = ("0", "2", "0.5", "1e300", "3 W", "2 s", "7 J", "0.2 USD/kWh", "1 GHz", "1 word", "5 %")
FUNCTIONS = (
    "maximum({}, {})",
    "minimum({}, {})",
    "log({} / {})",
    "exp({} - {})",
    "sqrt({} * {})",
    "({})**({})",
)
SIGNS = (" + ", " - ", " * ", " / ", "**", "^", " % ", "/")


def more(tree: Tree, dice: random.Random) -> None:
    """Add an order of ties, a range, rows, a definition or kernels; from the file's own names, right more or less."""
    dice.choice((_ties, _valid, _paths, _table, _define, _define, _kernels))(tree, dice)


def names(tree: Tree) -> list[str]:
    """Return names of the file: given, decided and limited."""
    found = [k for part in ("given", "decide", "limits", "define") for k in _of(tree, part)]
    return [*found, *METRICS]


def expression(tree: Tree, dice: random.Random, depth: int = 3) -> str:
    """Return an expression over names of the file, whose units seldom add up."""
    if depth == 0 or dice.random() < 0.3:
        return dice.choice([dice.choice(names(tree)), dice.choice(NUMBERS)])
    one, other = (expression(tree, dice, depth - 1) for _ in range(2))
    if dice.random() < 0.4:
        return dice.choice(FUNCTIONS).format(one, other)
    return f"({one}){dice.choice(SIGNS)}{other}"


def _of(tree: Tree, part: str) -> Tree:
    found = tree.get(part)
    return found if isinstance(found, dict) else {}


def _ties(tree: Tree, dice: random.Random) -> None:
    many = [dice.choice(names(tree)) for _ in range(dice.choice([0, 1, 2, 2, 3]))]
    tree["objective"] = {
        **_of(tree, "objective"),
        "ties": dice.choice([many, dice.choice(names(tree)), 3, [[]]]),
    }


def _valid(tree: Tree, dice: random.Random) -> None:
    tree["valid"] = dice.choice([True, True, True, False, "yes", 1])


def _paths(tree: Tree, dice: random.Random) -> None:
    kinds = [*(f"given.{k}" for k in _of(tree, "given")), *(f"limits.{k}.max" for k in _of(tree, "limits"))]
    kinds += ["machine", "machine.time_per_flop", dice.choice(names(tree)), "decide.processors.max"]
    rows = {
        path: [
            dice.choice([1, 2.5, "10 s", "jaketown", "", 0, 1e300]) for _ in range(dice.choice([1, 2, 2, 3]))
        ]
        for path in dice.sample(kinds, dice.choice([1, 2, 2, 3]))
    }
    tree.setdefault("sweep", {})
    if isinstance(tree["sweep"], dict):
        tree["sweep"]["rows"] = {"paths": rows} | ({"num": 3} if dice.random() < 0.2 else {})


def _table(tree: Tree, dice: random.Random) -> None:
    of = {
        dice.choice([*names(tree), "limits.time.max", "machine"]): dice.choice(["T", "n", ""])
        for _ in range(2)
    }
    tree.setdefault("sweep", {})
    if isinstance(tree["sweep"], dict):
        tree["sweep"]["file"] = {
            "table": dice.choice(["points.csv", "none.csv", "", "../x", 3]),
            "columns": of,
        }


def _define(tree: Tree, dice: random.Random) -> None:
    name = dice.choice(["own", "own", *names(tree)])
    tree["define"] = _of(tree, "define") | {name: expression(tree, dice)}
    if dice.random() < 0.5:
        tree["objective"] = {dice.choice(["minimize", "maximize"]): name}


def _kernels(tree: Tree, dice: random.Random) -> None:
    one = {"name": "forces", "model": tree.pop("model", "nbody"), "given": tree.pop("given", {})}
    other = {
        "name": dice.choice(["forces", "b", "time"]),
        "workload": dice.choice(["spmv", "fmm-near", "x"]),
        "size": 9,
    }
    tree["kernels"] = dice.choice([[one], [one, one | {"name": "b", "repeat": 3}], [one, other], one])
    tree |= dice.choice([{}, {}, {"overlap": True}, {"idle": "on"}])

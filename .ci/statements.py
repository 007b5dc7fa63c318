"""How many statements each folder of the project has, docstrings not counted: one line for each room."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("solvers", "formulations", "results", "scenarios", "dse")


def statements(file: Path) -> int:
    """The number of statements of a module, without docstrings and other lone texts."""
    return sum(
        isinstance(node, ast.stmt) and not _is_text(node) for node in ast.walk(ast.parse(file.read_text()))
    )


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def main() -> None:
    """Print the counts of folders and of the rooms in them."""
    for folder in sys.argv[1:] or FOLDERS:
        rooms: dict[str, int] = {}
        for file in sorted((ROOT / folder).rglob("*.py")):
            inside = file.relative_to(ROOT / folder).parts
            room = inside[0] if len(inside) > 1 else "."
            rooms[room] = rooms.get(room, 0) + statements(file)
        sys.stdout.write(f"{folder:<24}{sum(rooms.values()):>8,}\n".replace(",", " "))
        for room, count in sorted(rooms.items()):
            sys.stdout.write(f"  {room:<22}{count:>8,}\n".replace(",", " "))


if __name__ == "__main__":
    main()

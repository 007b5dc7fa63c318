"""Limits in the terminal: the user's one by one, families of the model's own in a row each; tables without zeros."""

import pytest

from results.export.jsonable import to_json
from results.solution import LimitState, Solution, Status
from results.telling import limit_rows
from results.telling.render import parts, to_text


def own(value: float, **more: float) -> LimitState:
    return LimitState(value, 1.0, "model", "", 1.0 - value, abs(1.0 - value) < 1e-7, **more)


def solution(**limits: LimitState) -> Solution:
    stated = {name.replace("__", "."): state for name, state in limits.items()}
    return Solution(
        Status.OPTIMAL,
        objective=3.0,
        objective_name="cost",
        metrics={"cost": 3.0, "power": 5.0},
        units={"cost": "USD", "power": "W"},
        limits={"power": LimitState(5.0, 10.0, "max", "W", 0.5, binding=False), **stated},
    )


def test_a_family_that_holds_is_one_row_and_the_record_has_all():
    asked = solution(
        housed__a=own(1.0), speed__a=own(0.2), housed__b=own(0.9), speed__b=own(0.1), housed__c=own(0.5)
    )
    assert limit_rows.rows(asked) == (
        ("power", "≤ 10 W", "5 W", "50 %", ""),
        ("housed (3 limits)", "model's own", "≤ 100 % used", "all hold, 1 binding", ""),
        ("speed.a", "model's own", "20 % used", "80 %", ""),
        ("speed.b", "model's own", "10 % used", "90 %", ""),
    )
    assert set(to_json(asked)["limits"]) == {*asked.limits}
    assert "housed (3 limits)" in to_text(asked)
    assert "housed.a" not in to_text(asked)


def test_what_is_broken_or_worth_something_stands_alone():
    asked = solution(
        whole__a=own(0.4),
        whole__b=own(1.2),
        whole__c=own(1.0, elasticity=-0.5),
        whole__d=own(0.3),
        whole__e=own(0.2),
    )
    names = [row[0] for row in limit_rows.rows(asked)]
    assert names == ["power", "whole (3 limits)", "whole.b", "whole.c"]
    broken = next(row for row in limit_rows.rows(asked) if row[0] == "whole.b")
    assert broken[2:4] == ("120 % used", "violated by 20 %")
    together = next(row for row in limit_rows.rows(asked) if row[0].startswith("whole ("))
    assert together[2:4] == ("≤ 40 % used", "all hold")


def test_limits_of_one_name_alone_are_no_family():
    asked = solution(memory=own(0.4), whole=own(0.3), range=own(0.2))
    assert [row[0] for row in limit_rows.rows(asked)] == ["power", "memory", "whole", "range"]


def test_a_next_change_is_told_apart_from_the_limit_asked():
    near = LimitState(36.0, 36.0, "min", "W", 0.0, True, next_change=35.99999995, next_objective=2.0)
    (row,) = limit_rows.rows(
        Solution(Status.OPTIMAL, objective_name="cost", units={"power": "W"}, limits={"power": near})
    )
    assert row[1] == "≥ 36 W"
    # what is continuous beside whole numbers moves at once where a limit binds
    assert row[4] == "discrete values next change at 35.99999995 W: cost 2"


def counts(rows: int, some: int) -> Solution:
    """Counts of so many types at two levels, of which the first ``some`` types are there at the first."""
    names = {f"count.t{i}.{level}": (f"t{i}", level) for i in range(rows) for level in ("full", "low")}
    index = {n: ("count", (("type", t), ("level", level))) for n, (t, level) in names.items()}
    there = {n: 7.0 if int(t[1:]) < some and level == "full" else 0.0 for n, (t, level) in names.items()}
    return Solution(Status.OPTIMAL, variables=there, index=index)


@pytest.mark.parametrize(
    ("rows", "some", "heading", "shown"),
    [
        (9, 2, "count by type and level", 9),
        (6, 0, "count by type and level", 6),
    ],
)
def test_tables_of_one_leading_label_are_whole(rows: int, some: int, heading: str, shown: int):
    (table,) = [p for p in parts(counts(rows, some)) if p.heading.startswith("count")]
    assert table.heading == heading
    assert len(table.rows) == shown


def deep(types: int, some: int) -> Solution:
    """Counts of types by level and card, two families of them, so that three things stand before a number."""
    variables, index = {}, {}
    for family in ("count", "boards"):
        for i in range(types):
            for card in ("small", "large"):
                name = f"{family}.t{i}.full.{card}"
                variables[name] = 5.0 if i < some and card == "small" else 0.0
                index[name] = (family, (("type", f"t{i}"), ("level", "full"), ("card", card)))
    return Solution(Status.OPTIMAL, variables=variables, index=index)


@pytest.mark.parametrize(
    ("types", "some", "shown", "left_out"), [(5, 1, 2, 8), (2, 1, 4, 0), (5, 0, 10, 0), (5, 5, 10, 0)]
)
def test_a_long_table_leaves_rows_of_zeros_out_and_says_so(types: int, some: int, shown: int, left_out: int):
    asked = deep(types, some)
    (table,) = parts(asked)
    assert len(table.rows) == shown
    assert table.heading.endswith(f"({left_out} rows of zeros left out)") == bool(left_out)
    assert len(to_json(asked)["variables"]) == 4 * types


def test_what_may_be_more_than_zero_is_no_row_of_zeros():
    asked = deep(5, 1)
    asked = Solution(
        Status.OPTIMAL,
        variables=asked.variables,
        index=asked.index,
        ranges={"count.t3.full.large": (0.0, 4.0)},
    )
    (table,) = parts(asked)
    assert [row[:3] for row in table.rows] == [
        ("t0", "full", "count"),
        ("t3", "full", "count"),
        ("t0", "full", "boards"),
    ]

"""A list of the user is a limit, also of a number that the model itself decides."""

import pytest

import dse
from dse import models
from dse.models import Model, ModelLimit
from dse.models.model import Unknown
from dse.quantities import Quantity
from results.solution import Status


@pytest.fixture
def shared() -> str:
    """A model that decides x: time = 10/x, energy = x + 1/x."""
    models.register(
        Model(
            "shared",
            title="shared",
            source="own",
            machine=(),
            inputs=(Quantity("x", "x", "", "x", floor=1e-3, ceiling=1e3),),
            metrics=(Quantity("time", "t", "s", "time"), Quantity("energy", "e", "J", "energy")),
            limits=(),
            equations=lambda g: {"time": 10 / g.x, "energy": g.x + 1 / g.x},
            unknowns=(Unknown("x"),),
        )
    )
    return "shared"


def test_the_list_is_named_where_a_number_that_it_leaves_out_would_do(shared: str) -> None:
    """Within 1 s x is at least 10, which the list has not; any x from 10 on would do."""
    question = {"model": shared, "objective": {"minimize": "energy"}, "limits": {"time": {"max": "1 s"}}}
    listed = {**question, "decide": {"x": {"values": [1, 2, 4]}}}
    found = dse.solve(listed)
    assert found.status is Status.INFEASIBLE
    assert found.conflicts == (("time", "x"),)
    assert found.conflict["time"] == pytest.approx(2.5, rel=1e-8)
    assert found.conflict["x"] == pytest.approx(10, rel=1e-8)
    sweep = {"deadline": {"path": "limits.time.max", "values": ["1 s", "3 s"]}}
    swept = dse.sweep({**listed, "sweep": sweep}, progress=False)
    would_do = swept["would_do"].isel(deadline=0)
    assert [float(would_do.sel(limit=n)) for n in ("time", "x")] == pytest.approx([2.5, 10], rel=1e-8)
    free = {**question, "decide": {"x": {}}}
    assert dse.solve(free).objective == pytest.approx(10.1, rel=1e-8)


def test_a_list_of_whole_numbers_is_named_where_all_designs_are_tried() -> None:
    """Beside 1 unit 9 or 10 are too many for 6; 5 are not, which the list has not."""
    metrics = (Quantity("cost", "c", "", "cost"),)
    models.register(
        Model(
            "units",
            title="units",
            source="own",
            machine=(),
            inputs=(Quantity("a", "a", "", "units", floor=1, minimum=1, ceiling=1e6, whole=True),),
            metrics=metrics,
            limits=(ModelLimit("fits", "a + 1 <= 6", "units fit", "own"),),
            equations=lambda g: {"cost": g.a**1.5, "fits": (g.a + 1) / 6},
            unknowns=(Unknown("a", integer=True),),
        )
    )
    found = dse.solve(
        {"model": "units", "decide": {"a": {"values": [9, 10]}}, "objective": {"minimize": "cost"}}
    )
    assert (found.status, found.conflicts) == (Status.INFEASIBLE, (("a", "fits"),))
    assert found.conflict["a"] == pytest.approx(5, rel=1e-8)
    assert "5, if any value were allowed" in str(found)

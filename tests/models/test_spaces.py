"""What stands below a dotted name, in namespaces of equations."""

from types import SimpleNamespace

from dse.models.shared.families import entry, row
from dse.models.shared.spaces import Space, grouped


def test_names_are_grouped_by_everything_before_a_dot():
    assert grouped({"a": 1, "cpu.t": 2, "cpu.e": 3, "x.r1.flops": 4}) == {
        "cpu": {"t": 2, "e": 3},
        "x": {"r1.flops": 4},
        "x.r1": {"flops": 4},
    }


def test_entries_and_rows_are_found_in_any_namespace():
    machine = {"cpu.t": 2.0, "cpu.e": 3.0, "cpu2.t": 9.0}
    numbers = {"regions.a.flops": 4.0, "regions.b.flops": 5.0}
    for made in (Space, SimpleNamespace):
        g = made(machine=made(**machine), **numbers)
        assert vars(entry(g, "cpu")) == {"t": 2.0, "e": 3.0}
        assert vars(row(g, "regions", "b")) == {"flops": 5.0}
        assert vars(row(g, "regions", "none")) == {}
        # what was found once is found again, and is nobody else's
        entry(g, "cpu").t = 7.0
        assert entry(g, "cpu").t == 2.0
        assert set(vars(g)) == {"machine", *numbers}

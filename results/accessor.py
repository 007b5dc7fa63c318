"""``dataset.dse``: the pictures of a dataset, on every xarray.Dataset once this module is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import xarray as xr

from results import breakdowns, flat, plot, rooflines
from results.along_fronts.variable_names import FRONT
from results.summaries import notebook

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from results.pictures.canvas import Given


class Pictures:
    """The pictures of a dataset, as methods: ``dataset.dse.front()``, ``.sweep()``, ``.map()``, ``.roofline()``, ...

    In a notebook ``dataset.dse`` alone shows the answer in a sentence, its picture and its designs.
    Each is the function of that name in ``results.plot``, takes its options, ``ax`` among them, and returns the
    figure. Where the dataset cannot show that, the ValueError says what it can.
    """

    def __init__(self, dataset: xr.Dataset) -> None:
        self._dataset = dataset

    def __repr__(self) -> str:
        """Name the pictures there are."""
        return f"<pictures of this dataset: {', '.join(shown(self._dataset)) or 'none'}>"

    def _repr_html_(self) -> str:
        """Show the answer in a sentence, its picture and its designs, in a notebook."""
        return notebook.to_html(self._dataset, shown(self._dataset))

    def front(self, x: str | None = None, y: str | None = None, ax: Axes | None = None) -> Figure:
        """Draw the Pareto front, or those along swept axes."""
        return self._draw(FRONT, x, y, ax)

    def sweep(self, variable: str | None = None, ax: Axes | None = None) -> Figure:
        """Draw a variable over the swept axes: lines, a map, or panels."""
        return self._draw("sweep", variable, ax)

    def map(
        self,
        x: str | None = None,
        y: str | None = None,
        variable: str | None = None,
        ax: Axes | None = None,
    ) -> Figure:
        """Draw a map over two swept axes."""
        return self._draw("map", x, y, variable, ax)

    def roofline(self, metrics: Sequence[str] | None = None, ax: Given | None = None) -> Figure:
        """Draw the rooflines of the machines, and the designs under them."""
        return self._draw("roofline", metrics, ax)

    def breakdown(
        self,
        metric: str | None = None,
        by: str | None = None,
        ax: Axes | None = None,
        *,
        share: bool = False,
    ) -> Figure:
        """Draw what a total is made of, for each design."""
        return self._draw("breakdown", metric, by, ax, share=share)

    def tornado(self, ax: Axes | None = None) -> Figure:
        """Draw what the limits are worth."""
        return self._draw("tornado", ax)

    def parallel(
        self, variables: Sequence[str] | None = None, colour: str | None = None, ax: Axes | None = None
    ) -> Figure:
        """Draw the designs through parallel coordinates."""
        return self._draw("parallel", variables, colour, ax)

    def _draw(self, name: str, *options: Any, **named: Any) -> Figure:
        draw: Callable[..., Figure] = getattr(plot, name)
        try:
            return draw(self._dataset, *options, **named)
        except ValueError as problem:
            can = shown(self._dataset)
            if name in can:
                raise
            told = ", ".join(f"{n}()" for n in can) or "no picture"
            raise ValueError(f"{problem}. This dataset can show {told}") from None


def shown(dataset: xr.Dataset) -> tuple[str, ...]:
    """Return the names of the pictures that a dataset can show, some of them only of a part chosen with isel."""
    dims = flat.points(dataset)
    there = bool(dims) and 0 not in [dataset.sizes[d] for d in dims]
    worth = "elasticity" in dataset and bool(dataset["elasticity"].notnull().any())
    can = {
        FRONT: there and FRONT in dims,
        "sweep": there and FRONT not in dims,
        "map": there and FRONT not in dims and len(dims) > 1,
        "roofline": bool(rooflines.of_dataset(dataset)),
        "breakdown": bool(breakdowns.every(dataset)),
        "tornado": worth,
        "parallel": there,
    }
    return tuple(name for name, is_so in can.items() if is_so)


xr.register_dataset_accessor("dse")(Pictures)

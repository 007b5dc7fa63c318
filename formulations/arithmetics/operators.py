"""What arithmetics have in common: operations that follow from others, and comparisons that have no answer."""

from __future__ import annotations

from typing import Any

from dse.models.arithmetic import CannotTake


class Operators:
    """A quantity that is not one number: NumPy leaves it whole, and a comparison of it raises ``refusal``.

    A class that has ``+``, ``*`` and a minus sign gets the operations that follow from them.
    """

    __slots__ = ()
    __array_ufunc__ = None
    comparison = "a comparison of unknowns"
    refusal = CannotTake

    def __bool__(self) -> bool:
        raise self.refusal(self.comparison)

    def __lt__(self, _other: Any) -> bool:
        return bool(self)

    __le__ = __gt__ = __ge__ = __lt__

    def __radd__(self: Any, other: Any) -> Any:
        return self.__add__(other)

    def __sub__(self: Any, other: Any) -> Any:
        return self.__add__(-other)

    def __rsub__(self: Any, other: Any) -> Any:
        return (-self).__add__(other)

    def __rmul__(self: Any, other: Any) -> Any:
        return self.__mul__(other)

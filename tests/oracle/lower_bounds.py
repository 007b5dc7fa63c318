"""How little communication will do (Demmel et al. 2013, section III), constants left out; any arithmetic.

All take and return plain counts: flops of one processor, words of memory it uses, words of input and output.
"""

from __future__ import annotations

from typing import Any

from dse.models.arithmetic import maximum


def words_sequential(flops: Any, memory: Any, inputs_and_outputs: Any) -> Any:
    """Return the words that must cross between fast and slow memory: max(I + O, F/√M) (3)."""
    return maximum(inputs_and_outputs, flops / memory**0.5)


def messages_sequential(flops: Any, memory: Any, inputs_and_outputs: Any, max_message: Any) -> Any:
    """Return the messages these words need: (3) over the largest message (4)."""
    return words_sequential(flops, memory, inputs_and_outputs) / max_message


def words_parallel(flops: Any, memory: Any, inputs_and_outputs: Any) -> Any:
    """Return the words that a processor of many must send: max(0, F/√M - (I + O)) (5).

    Zero where the processor may already hold all it needs.
    """
    return maximum(0.0, flops / memory**0.5 - inputs_and_outputs)


def messages_parallel(flops: Any, memory: Any, inputs_and_outputs: Any, max_message: Any) -> Any:
    """Return the messages these words need: (5) over the largest message."""
    return words_parallel(flops, memory, inputs_and_outputs) / max_message


def words_any_memory(order: Any, processors: Any, exponent: Any = 3.0) -> Any:
    """Return the words a processor must send however much memory it has: n²/p^(2/ω) (Figure 3).

    ``exponent`` is 3 for classical multiplication and log2(7) for Strassen's.
    """
    return order**2 / processors ** (2 / exponent)


def words_multiplication(order: Any, processors: Any, memory: Any, exponent: Any = 3.0) -> Any:
    """Return the words per processor of the best multiplication with up to ``memory`` words each (Figure 3).

    n^ω/(p M^(ω/2-1)) while more processors mean more copies, n²/p^(2/ω) from ``scaling_end`` on.
    """
    limited = order**exponent / (processors * memory ** (exponent / 2 - 1))
    return maximum(limited, words_any_memory(order, processors, exponent))


def scaling_start(order: Any, memory: Any) -> Any:
    """Return the fewest processors whose memories together hold one copy of a matrix: n²/M."""
    return order**2 / memory


def scaling_end(order: Any, memory: Any, exponent: Any = 3.0) -> Any:
    """Return the processors up to which time falls as 1/p at no more energy: n^ω/M^(ω/2) (Figure 3)."""
    return order**exponent / memory ** (exponent / 2)

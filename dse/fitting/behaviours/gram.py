"""Normal equations of many runs and few parameters, in pieces that the linear algebra library does in one thread.

Several threads would mostly wait for each other there: a fit takes three times the processor time.
"""

from __future__ import annotations

import numpy as np

from dse.system.arrays import Array

# products of matrices of fewer multiplications run in one thread (OpenBLAS, interface/gemm.c)
IN_ONE_THREAD = 250_000
FEW_TERMS = 64


def normal(rows: Array, weight: Array) -> Array:
    """Return rows' weight rows, for ``rows`` (N, p) and a weight of each."""
    n, p = rows.shape
    weighted = rows * weight[:, None]
    if p > FEW_TERMS:
        return np.asarray(rows.T @ weighted)
    size = max(IN_ONE_THREAD // (p * p), 16)
    whole = n // size * size
    pieces = rows[:whole].reshape(-1, size, p), weighted[:whole].reshape(-1, size, p)
    found = np.matmul(pieces[0].transpose(0, 2, 1), pieces[1]).sum(0)
    return np.asarray(found + rows[whole:].T @ weighted[whole:])


def right(rows: Array, values: Array) -> Array:
    """Return rows' values, for ``rows`` (N, p) and values (N,)."""
    return np.asarray(np.einsum("np,n->p", rows, values))

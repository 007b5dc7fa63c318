"""Checksums of a chunk's values."""

import json
import zlib

import numpy as np
import pytest

from results.stores.checksums import checksum


@pytest.mark.parametrize("shape", [(1,), (3, 4)])
def test_texts_have_the_checksum_of_their_list_also_where_all_are_empty(shape: tuple[int, ...]):
    texts = np.zeros(shape, np.dtypes.StringDType())
    assert checksum(texts) == f"{zlib.crc32(json.dumps([''] * texts.size).encode()):08x}"
    texts[(0,) * texts.ndim] = "no"
    said = ["no", *[""] * (texts.size - 1)]
    assert checksum(texts) == f"{zlib.crc32(json.dumps(said).encode()):08x}"

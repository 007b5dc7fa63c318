"""Each format holds every number, with units and provenance as far as it allows, and opens elsewhere."""

import csv
import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from results import flat
from results.dataset import Arrays, Layout
from results.export import formats, netcdf, parquet, reading
from results.export.jsonable import to_json
from results.stores import store
from results.stores.chunks import chunk_slices

Fill = Callable[[tuple[slice, ...]], Arrays]
# by the CF conventions, 2.3: letters, digits and underscores, beginning with a letter
CF_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# names of SI units and multiples that UDUNITS-2 defines, with a power behind
CF_UNIT = re.compile(r"1|((s|J|W|Hz|V|A|K|m|kg|ohm|F|C|byte|bit)(-?[0-9])? ?)+")
CF_MEANING = re.compile(r"[A-Za-z0-9_\-.+@]+")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stored") / "stored.zarr"


@pytest.fixture
def stored(plan: Layout, arrays_of: Fill, place: Path) -> xr.Dataset:
    """The same dataset as a sweep's store, in chunks of 20 points; written once, since it is only read."""
    if not place.exists():
        chunks = store.create(place, plan, {"scenario": "x"})
        for index, region in chunk_slices(plan.shape, chunks):
            store.write_chunk(place, index, arrays_of(region))
    return reading.open(place)


def same(a: xr.Dataset, b: xr.Dataset) -> None:
    assert list(map(str, a.dims)) == list(map(str, b.dims))
    assert set(a.coords) == set(b.coords)
    for name in a.variables:
        one, other = a[name], b[name]
        assert one.dims == other.dims, name
        if one.dtype.kind in "fi":
            np.testing.assert_array_equal(one.values, other.values, err_msg=str(name))
            assert one.dtype == other.dtype, name
        else:
            assert list(map(str, one.values.ravel())) == list(map(str, other.values.ravel())), name
        assert {k: v for k, v in one.attrs.items() if v != ""} == dict(other.attrs), name
    attrs = {k: v for k, v in a.attrs.items() if k not in netcdf.STORE_ONLY}
    assert attrs == dict(b.attrs)


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_datasets_come_back_as_they_were(ds: xr.Dataset, stored: xr.Dataset, tmp_path: Path, ending: str):
    for name, one in (("memory", ds), ("store", stored)):
        file = formats.write(one, tmp_path / f"{name}{ending}")
        back = reading.open(file)
        same(one, back.load())


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_what_is_exported_is_identical_to_what_comes_back(ds: xr.Dataset, tmp_path: Path, ending: str):
    ds["energy"].attrs["path"] = ""
    ds["status"].attrs["flag_meanings"] = (
        ds["status"].attrs["flag_meanings"].replace("optimal", "largest:_a,b_(c)")
    )
    ds.attrs |= {"solves": 3, "width": 0.5, "refusal": ""}
    back = reading.open(formats.write(ds, tmp_path / f"made{ending}"))
    assert ds.identical(back)
    assert {n: type(v) for n, v in back.attrs.items()} == {n: type(v) for n, v in ds.attrs.items()}


def test_netcdf_keeps_the_cf_conventions(ds: xr.Dataset, tmp_path: Path):
    """What the conventions ask of names, units, flags, coordinates and missing values, on the file as it is."""
    ds = ds.rename({"memory": "decided.memory"})
    ds["1 odd/name"] = ds["energy"].assign_attrs(units="USD*s/flop")
    raw = xr.open_dataset(formats.write(ds, tmp_path / "x.nc"), engine="h5netcdf", decode_cf=False)
    assert raw.attrs["Conventions"].startswith("CF-")
    assert raw.attrs["title"]
    assert raw.attrs["source"]
    for name, array in raw.variables.items():
        assert CF_NAME.fullmatch(str(name)), name
        assert array.attrs.get("long_name") or array.dtype.kind in "OU", name
        if "units" in array.attrs:
            assert CF_UNIT.fullmatch(array.attrs["units"]), (name, array.attrs["units"])
        elif array.dtype.kind == "f" and "limit_units" not in array.attrs:
            pytest.fail(f"{name} has no units")
        if "flag_values" in array.attrs:
            flags, words = np.atleast_1d(array.attrs["flag_values"]), array.attrs["flag_meanings"].split()
            assert flags.dtype == array.dtype, name
            assert len(flags) == len(words), name
            assert all(map(CF_MEANING.fullmatch, words)), name
        if name in raw.dims:
            assert array.dtype.kind in "fi", f"coordinate variable {name} is not a number"
            assert "_FillValue" not in array.attrs, name
            steps = np.diff(array.values)
            assert (steps > 0).all() or (steps < 0).all(), name
    # names of an axis are labels: an auxiliary coordinate that the data name
    assert "machine_label" in raw["energy"].attrs["coordinates"].split()
    assert raw["machine_label"].dims == ("machine",)
    assert raw["energy"].attrs["units"] == "J"
    same(ds, reading.open(tmp_path / "x.nc").load())


def test_netcdf_has_no_coordinate_that_turns_back(ds: xr.Dataset, tmp_path: Path):
    turned = ds.isel(deadline=[3, 1, 2])
    raw = xr.open_dataset(formats.write(turned, tmp_path / "x.nc"), engine="h5netcdf")
    assert "deadline" not in raw.variables
    same(turned, reading.open(tmp_path / "x.nc").load())


@pytest.mark.parametrize(
    ("unit", "cf"),
    [
        ("flop/s", "s-1"),
        ("flop/J", "J-1"),
        ("J*s", "J s"),
        ("m^2", "m2"),
        ("USD*s/op", "s"),
        ("W/word", "W"),
        ("1/byte", "byte-1"),
        ("flop", "1"),
        ("1", "1"),
        ("cycle/instruction", "1"),
        ("J*s^2/flop", "J s2"),
    ],
)
def test_units_are_those_of_udunits(unit: str, cf: str):
    assert netcdf.cf_unit(unit) == cf


def test_parquet_opens_with_sensible_types_in_pandas(ds: xr.Dataset, tmp_path: Path):
    frame = pd.read_parquet(formats.write(ds, tmp_path / "x.parquet"))
    assert len(frame) == ds["status"].size
    assert isinstance(frame["status"].dtype, pd.CategoricalDtype)
    assert {"optimal", "infeasible", "error"} <= set(frame["status"].unique())
    assert isinstance(frame["machine"].dtype, pd.CategoricalDtype)
    assert frame["deadline"].dtype == frame["energy"].dtype == np.float64
    wanted = ds["energy"].transpose("deadline", "machine").values.ravel()
    np.testing.assert_array_equal(frame["energy"].to_numpy(), wanted)
    assert frame["elasticity_time"].notna().sum() == np.isfinite(ds["elasticity"].sel(limit="time")).sum()
    assert set(frame["binding_time"].dropna().unique()) <= {
        "not_applicable",
        "slack",
        "binding",
        "conflicting",
    }


def test_parquet_opens_with_sensible_types_in_duckdb(ds: xr.Dataset, tmp_path: Path):
    duckdb = pytest.importorskip("duckdb")
    file = str(formats.write(ds, tmp_path / "x.parquet"))
    types = dict(
        duckdb.sql(f"select column_name, column_type from (describe select * from '{file}')").fetchall()
    )
    assert types["status"] == types["machine"] == types["message"] == "VARCHAR"
    assert types["energy"] == types["deadline"] == "DOUBLE"
    best = duckdb.sql(f"select status, count(*), min(energy) from '{file}' group by status").fetchall()
    counts = {status: n for status, n, _ in best}
    for code, word in flat.columns(ds, ["status"])[0].words.items():
        assert counts.get(word, 0) == int((ds["status"] == code).sum())
    # no number is null, not NaN, which would spoil every sum
    assert duckdb.sql(f"select sum(energy) from '{file}'").fetchall()[0][0] == pytest.approx(
        float(ds["energy"].sum()), rel=1e-12
    )
    about = dict(
        duckdb.sql(f"select decode(key), decode(value) from parquet_kv_metadata('{file}')").fetchall()
    )
    assert about["dse.title"] == ds.attrs["title"]
    assert json.loads(about["dse.columns"])["energy"]["unit"] == "J"


def test_parquet_says_what_each_column_is(ds: xr.Dataset, tmp_path: Path):
    import pyarrow.parquet as pq

    schema = pq.read_schema(formats.write(ds, tmp_path / "x.parquet"))
    field = schema.field("elasticity_time").metadata
    assert json.loads(field[b"labels"]) == {"limit": "time"}
    assert field[b"variable"] == b"elasticity"
    assert schema.field("energy").metadata[b"unit"] == b"J"
    assert schema.metadata[b"dse.scenario"].decode() == ds.attrs["scenario"]


def test_names_of_columns_are_words_and_unlike():
    columns = [flat.Column(n) for n in ("a.b", "a_b", "A b", "2x", "share[1]", "ε")]
    names = parquet.column_names(columns)
    assert names == ["a_b", "a_b_2", "A_b_3", "_2x", "share_1", "ε"]


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_text_has_its_units_and_provenance_beside_it(ds: xr.Dataset, tmp_path: Path, ending: str):
    file = formats.write(ds, tmp_path / f"x{ending}")
    about = json.loads((tmp_path / f"x{ending}-metadata.json").read_text(encoding="utf-8"))
    assert about["@context"] == "http://www.w3.org/ns/csvw"
    assert about["url"] == file.name
    assert about["dse:scenario"] == ds.attrs["scenario"]
    units = {c["titles"]: c.get("schema:unitText") for c in about["tableSchema"]["columns"]}
    assert units["energy [J]"] == "J"
    if ending == ".csv":
        with file.open(encoding="utf-8", newline="") as lines:
            assert next(csv.reader(lines)) == list(units)


def test_json_lines_hold_every_number(ds: xr.Dataset, tmp_path: Path):
    lines = formats.write(ds, tmp_path / "x.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == ds["status"].size
    for row in rows:
        at = ds.sel(deadline=row["deadline"], machine=row["machine"])
        for name in ("energy", "objective"):
            wanted = float(at[name])
            assert row[name] == (None if math.isnan(wanted) else wanted)
        assert list(row["elasticity"]) == list(map(str, ds["limit"].values))
    frame = pd.read_json(tmp_path / "x.jsonl", lines=True)
    assert frame["energy"].dtype == np.float64


@pytest.mark.parametrize("ending", [".md", ".tex"])
def test_documents_escape_what_came_from_a_file(ds: xr.Dataset, tmp_path: Path, ending: str):
    text = formats.write(ds, tmp_path / f"x{ending}", ["deadline", "machine", "status", "energy"]).read_text(
        "utf-8"
    )
    if ending == ".md":
        assert r"Least \<script\>alert(1)\</script\> \| of $x\_1$ & 50 %" in text
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        assert len(rows) == 2 + ds["status"].size
        assert {len(re.findall(r"(?<!\\)\|", r)) for r in rows} == {5}
        assert rows[0] == r"| deadline \[s\] | machine | status | energy \[J\] |"
    else:
        assert r"\caption{Least \textless{}script\textgreater{}alert(1)" in text
        assert r"of \$x\_1\$ \& 50 \%}" in text
        assert text.count(r" \\" + "\n") == 1 + ds["status"].size
        assert r"\begin{tabular}{rllr}" in text


def test_what_would_be_a_sign_by_its_name_in_markdown_stays_text(ds: xr.Dataset, tmp_path: Path):
    odd = ds.assign_coords(machine=["a&amp;b", "c & d; &#38;"])
    text = formats.write(odd, tmp_path / "x.md", ["machine", "energy"]).read_text("utf-8")
    assert r"| a\&amp;b |" in text
    assert r"| c & d; &\#38; |" in text or r"| c & d; \&\#38; |" in text


def test_a_row_of_latex_may_begin_with_a_bracket(ds: xr.Dataset, tmp_path: Path):
    odd = ds.assign_coords(machine=["[a]", "b"])
    text = formats.write(odd, tmp_path / "x.tex", ["machine", "energy"]).read_text("utf-8")
    assert "    {}[a] & " in text


def test_a_document_has_what_a_reader_wants(tmp_path: Path):
    """Axes, status, objectives and what is decided; of one answer every number, upright."""
    import dse

    asked = dse.load("nbody_deadline_sweep").model_dump(exclude_defaults=True)
    asked["sweep"] = {"deadline": {"path": "limits.time.max", "values": [0.1, 1.0]}}
    text = formats.write(dse.sweep(dse.load(asked)), tmp_path / "x.md").read_text("utf-8")
    assert r"| deadline \[s\] | status | energy \[J\] | processors | memory \[word\] |" in text
    dse.export(dse.solve("nbody_deadline"), tmp_path / "y.md")
    assert "| processors | 2005 |  |" in (tmp_path / "y.md").read_text("utf-8")


def test_a_document_of_an_infeasible_answer_says_what_conflicts_and_what_would_do(tmp_path: Path):
    import dse

    asked = dse.load("nbody_deadline").model_dump(exclude_defaults=True)
    asked["limits"] = {"time": {"max": 0.01}, "power": {"max": 1000.0}}
    asked["given"] = {"bodies": 1e5, "flops_per_pair": 10.0}
    asked["decide"] = {"processors": {"max": 100.0}, "memory": {}}
    (tmp_path / "a.json").write_text(json.dumps(to_json(dse.solve(asked))))
    text = dse.export(tmp_path / "a.json", tmp_path / "x.md").read_text("utf-8")
    assert "| 2 | time and processors cannot hold together |" in text
    needed = re.search(r"\| time \| ≤ ([0-9.]+) s \(asked: ≤ 10 ms\) \|", text)
    assert needed is not None
    latex = dse.export(tmp_path / "a.json", tmp_path / "x.tex").read_text("utf-8")
    assert rf"time & $\leq$ {needed[1]} s (asked: $\leq$ 10 ms) \\" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 3


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_pictures_know_where_they_come_from(ds: xr.Dataset, tmp_path: Path, ending: str):
    data = formats.write(ds, tmp_path / f"x{ending}").read_bytes()
    if ending == ".svg":
        assert b"<script>" not in data
        assert b"scenario_hash: e1438081e22b796ad2c66fa2d25139fbb188e2cc58f516b6bf3afcf2379b00f5" in data
    elif ending == ".png":
        assert b"scenario_hash: e1438081e22b796ad2c66fa2d25139fbb188e2cc58f516b6bf3afcf2379b00f5" in data
    else:
        assert b"/Title" in data
        assert data.startswith(b"%PDF")


def test_pictures_show_what_is_asked_for(ds: xr.Dataset, tmp_path: Path):
    assert b">power" in _svg_texts(formats.write(ds, tmp_path / "power.svg", ["power"]))
    evaluated = ds.drop_vars(["objective", "bound", "gap", "status"])
    formats.write(evaluated, tmp_path / "first.png")
    with pytest.raises(formats.ExportError, match="a picture of a sweep has one column"):
        formats.write(ds, tmp_path / "x.png", ["power", "time"])
    with pytest.raises(formats.ExportError, match="no column 'pwer'; did you mean 'power'"):
        formats.write(ds, tmp_path / "x.png", ["pwer"])


def _svg_texts(file: Path) -> bytes:
    # text is drawn as paths, which a comment before them names
    return file.read_bytes().replace(b"<!-- ", b">")


def test_a_document_of_what_was_evaluated_has_every_metric(tmp_path: Path):
    import dse

    asked = {"model": "roofline", "machine": "gtx-titan-choi2014", "given": {"flops": 1e9}}
    asked["sweep"] = {"i": {"path": "given.intensity", "values": [1, 4]}}
    head = dse.export(dse.evaluate(asked), tmp_path / "x.md").read_text("utf-8").splitlines()[2]
    assert r"time \[s\] | energy \[J\] | power \[W\]" in head


@pytest.mark.parametrize("rows", [7, 50, 1000])
@pytest.mark.parametrize("most", [10, 60, 1000])
def test_a_store_is_read_in_pieces_that_hold_each_point_once(
    stored: xr.Dataset, ds: xr.Dataset, monkeypatch: pytest.MonkeyPatch, rows: int, most: int
):
    monkeypatch.setattr(flat, "BLOCK_ROWS", rows)
    monkeypatch.setattr(flat, "MOST_BLOCK", most)
    energy, status = flat.columns(stored, ["energy", "status"])
    pieces = list(flat.pieces(stored))
    assert all(p["status"].size <= rows for p in pieces)
    found = np.concatenate([flat.values(p, status) for p in pieces])
    assert found.size == ds["status"].size
    order = np.concatenate(
        [np.ravel(np.broadcast_to(p["deadline"].values[:, None], p["status"].shape)) for p in pieces]
    )
    wanted = ds["energy"].values.ravel()
    np.testing.assert_array_equal(
        np.sort(np.concatenate([flat.values(p, energy) for p in pieces])), np.sort(wanted)
    )
    if most == 1000:
        # whole chunks fit into a slab: the rows come as the grid is numbered
        assert (np.diff(order) >= 0).all()


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_large_tables_are_written_piece_by_piece(
    stored: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
):
    whole = formats.write(stored, tmp_path / f"whole{ending}")
    monkeypatch.setattr(flat, "BLOCK_ROWS", 13)
    cut = formats.write(stored, tmp_path / f"cut{ending}")
    if ending == ".parquet":
        pd.testing.assert_frame_equal(pd.read_parquet(whole), pd.read_parquet(cut))
        import pyarrow.parquet as pq

        assert pq.ParquetFile(cut).num_row_groups > 5
    else:
        assert whole.read_bytes() == cut.read_bytes()

"""Nothing of a person who is left out, of a name or of a dropped column is in any byte.

Unlikely texts and numbers are planted and looked for in every output, decompressed in every layer.
"""

import io
import json
import pickle
import struct

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.helpers.contract_array import TREES_ONLY
from tests.helpers.leak_samples import (
    FLAGS,
    FORMATS,
    NUMBERS,
    ROLES,
    SECRETS,
    SEED,
    K,
    anonymize,
    frame,
    rows,
    secret,
)

import shoal
from fuzz import bytes as files
from fuzz.parts import run_command

ALGORITHMS = [name for name in shoal.algorithms() if name not in TREES_ONLY]


def found_in(data, where):
    """Return what is found of what was planted."""
    found = []
    packed = [struct.pack("<q", each) for each in NUMBERS]
    packed += [struct.pack("<d", float(each)) for each in NUMBERS]
    texts = [str(each).encode() for each in [*NUMBERS, SEED]]
    for layer in files.layers(data):
        found += [f"{each!r} in {where}" for each in (*SECRETS, *texts, *packed) if each in layer]
    return found


def test_the_planted_texts_are_in_the_input_so_that_the_search_can_find_them(tmp_path):
    frame().write_parquet(tmp_path / "in.parquet")
    found = found_in((tmp_path / "in.parquet").read_bytes(), "input")
    assert {each for each in SECRETS if any(repr(each) in text for text in found)} == set(SECRETS)
    assert len({text for text in found if text.startswith("b'")}) > len(NUMBERS)


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_with_its_certificate_report_and_streams_is_clean(tmp_path, ending):
    outputs = anonymize(tmp_path, frame(), ending, "--algorithm", "mondrian")
    assert set(outputs) >= {f"safe.{ending}", "certificate.json", "report.html", "standard error"}
    assert [text for name, data in outputs.items() for text in found_in(data, name)] == []


@pytest.mark.parametrize("style", ["bounds", "struct", "mean", "median"])
@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl"])
def test_every_style_of_numbers_is_clean(tmp_path, ending, style):
    outputs = anonymize(tmp_path, frame(), ending, "--numeric-output", style, report=False)
    assert [text for name, data in outputs.items() for text in found_in(data, name)] == []


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_is_clean(tmp_path, algorithm):
    more = ["--algorithm", algorithm, "--max-suppression", "0.1", "--bound", "--debug"]
    outputs = anonymize(tmp_path, frame(), "arrow", *more)
    assert [text for name, data in outputs.items() for text in found_in(data, name)] == []


@pytest.mark.parametrize("shape", [list, dict.fromkeys], ids=["enum", "category"])
@pytest.mark.parametrize("ending", ["parquet", "arrow", "xlsx", "csv"])
def test_levels_of_people_who_are_left_out_are_not_published(tmp_path, ending, shape):
    table = frame()
    for name in ("home", "ill", "note"):
        levels = [*table[name].unique(), f"{secret(name)} of nobody"]
        kind = pl.Enum(levels) if shape is list else pl.Categorical(pl.Categories.random())
        table = table.with_columns(pl.col(name).cast(kind))
    outputs = anonymize(tmp_path, table, ending, "--algorithm", "mondrian")
    assert [text for name, data in outputs.items() for text in found_in(data, name)] == []


def as_pandas(categories):
    table = pd.DataFrame(rows()).astype({"age": "Int64"})
    if categories:
        for name in ("home", "ill", "note"):
            table[name] = table[name].astype("category")
    return table


def as_arrow(categories):
    table = frame().to_arrow()
    if categories:
        for name in ("home", "ill", "note"):
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, table.column(name).dictionary_encode())
    return table


FRAMES = {
    "polars": frame,
    "pandas": lambda: as_pandas(categories=False),
    "pandas with categories": lambda: as_pandas(categories=True),
    "pyarrow": lambda: as_arrow(categories=False),
    "pyarrow with dictionaries": lambda: as_arrow(categories=True),
    "DuckDB": lambda: duckdb.from_arrow(as_arrow(categories=False)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_release_in_memory_is_clean_however_it_leaves(tmp_path, kind):
    release = shoal.anonymize(
        FRAMES[kind](), K, **ROLES, missing="suppress", seed=SEED, algorithm="k-member", bound=True
    )
    leaving = {
        "pickle": pickle.dumps(release.frame),
        "certificate": json.dumps(release.certificate()).encode(),
        "repr": repr(release).encode(),
        "warnings": repr(release.warnings).encode(),
    }
    release.report(tmp_path / "report.html")
    leaving["report"] = (tmp_path / "report.html").read_bytes()
    for number, layer in enumerate(files.layers_of_frame(release.frame)):
        leaving[f"layer {number} of the frame"] = layer
    for name, write in native_writers(release.frame).items():
        memory = io.BytesIO()
        write(memory)
        leaving[name] = memory.getvalue()
    assert [text for name, data in leaving.items() for text in found_in(data, name)] == []


def native_writers(published):
    """What the library of the frame can write it with; parquet with every codec."""
    codecs = ("none", "snappy", "gzip", "brotli", "zstd", "lz4")
    if isinstance(published, pl.DataFrame):
        return {
            "arrow": published.write_ipc,
            "stream": published.write_ipc_stream,
            "avro": published.write_avro,
            "csv": published.write_csv,
            **{
                f"parquet {codec}": lambda memory, codec=codec: published.write_parquet(
                    memory, compression="uncompressed" if codec == "none" else codec
                )
                for codec in codecs
            },
        }
    table = published
    if isinstance(published, pd.DataFrame):
        table = pa.Table.from_pandas(published)
    return {
        f"parquet {codec}": lambda memory, codec=codec: pq.write_table(
            table, memory, compression=codec
        )
        for codec in codecs
    }


def test_explanations_are_clean(tmp_path):
    frame().write_csv(tmp_path / "in.csv")
    words = ["explain", "in.csv", "--k", str(K), *FLAGS, "--algorithm", "mondrian"]
    ran = run_command([*words, "--seed", str(SEED), "--out", "why.json"], tmp_path)
    assert ran.status == 0, ran.err.decode()
    outputs = {"why.json": (tmp_path / "why.json").read_bytes(), "out": ran.out, "err": ran.err}
    # What is explained is a run without suppression: homes may be cells of it, names may not.
    kept = [each for each in SECRETS if each != secret("home").encode()]
    found = [t for name, data in outputs.items() for t in found_in(data, name)]
    assert [text for text in found if any(repr(each)[2:-1] in text for each in kept)] == []
    assert [text for text in found if any(str(each) in text for each in NUMBERS)] == []


def test_pages_of_comparisons_are_clean(tmp_path):
    frame().write_csv(tmp_path / "in.csv")
    words = ["compare", "in.csv", *FLAGS, "-k", "4,5", "--algorithms", "mondrian,hilbert"]
    ran = run_command([*words, "--seed", str(SEED), "--report", "frontier.html"], tmp_path)
    assert ran.status == 0, ran.err.decode()
    outputs = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.name != "in.csv"}
    outputs |= {"out": ran.out, "err": ran.err}
    assert "frontier.html" in outputs
    # The seed of a comparison is no secret: nothing is published.
    found = [t for name, data in outputs.items() for t in found_in(data, name)]
    assert [text for text in found if str(SEED) not in text] == []


@pytest.mark.parametrize(
    "wrong",
    [
        ["--k", "500"],
        ["--l-diversity", "50"],
        ["--kind", "home=numeric"],
        ["--kind", "ill=numeric"],
        ["--hierarchy", "home=in.csv"],
        ["--order", "home=a,b"],
        ["--t-closeness", "0.1", "--t-distance", "ordered"],
        ["--missing", "error"],
        ["--delimiter", "x"],
        ["--format", "jsonl"],
    ],
    ids=" ".join,
)
def test_errors_show_no_cell(tmp_path, wrong):
    frame().write_csv(tmp_path / "in.csv")
    words = ["anonymize", "in.csv", "-o", "safe.csv", "--k", str(K), *FLAGS, *wrong]
    ran = run_command(words, tmp_path)
    assert ran.status in (1, 2)
    assert found_in(ran.out + ran.err, "the streams") == []
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]

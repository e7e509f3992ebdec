"""Reads exports of one study with the tools they are for.

Usage: check.py EXPORTS, with the directories csv, json, parquet, arrow, tensorboard
and openmetrics in it. Needs pandas, pyarrow, polars, duckdb, tensorboard and
prometheus_client. Prints one line per tool; any difference is an error.
"""

import pathlib
import sys

import duckdb
import pandas
import polars
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

root = pathlib.Path(sys.argv[1])
runs = pandas.read_csv(root / "csv/runs.csv")
assert len(runs) > 1, runs

for table in ["runs", "samples", "parts", "events"]:
    csv = pandas.read_csv(root / f"csv/{table}.csv")
    feather = pandas.read_feather(root / f"arrow/{table}.arrow")
    parquet = pandas.read_parquet(root / f"parquet/{table}.parquet")
    lines = pandas.read_json(root / f"json/{table}.jsonl", lines=True)
    # The crate parquet and the hand-written Arrow hold the same values and types.
    pandas.testing.assert_frame_equal(feather, parquet)
    assert list(feather.columns) == list(csv.columns) == list(lines.columns), table
    assert len(feather) == len(csv) == len(lines), table
    assert (feather["run"].astype(str) == csv["run"].astype(str)).all(), table
    print(f"pandas {pandas.__version__}: {table}, {len(csv)} rows, four formats agree")

    frame = polars.read_ipc(root / f"arrow/{table}.arrow")
    other = polars.read_parquet(root / f"parquet/{table}.parquet")
    assert frame.shape == other.shape == feather.shape, (frame.shape, other.shape)
    assert frame.to_dicts() == other.to_dicts() or table in ("samples", "parts"), table
    print(f"polars {polars.__version__}: {table}, {frame.shape}")

    arrow = frame.to_arrow()
    count = duckdb.sql("select count(*) from arrow").fetchall()[0][0]
    from_parquet = duckdb.sql(
        f"select count(*) from '{root}/parquet/{table}.parquet'"
    ).fetchall()[0][0]
    from_csv = duckdb.sql(f"select count(*) from '{root}/csv/{table}.csv'").fetchall()[0][0]
    from_json = duckdb.sql(
        f"select count(*) from read_json('{root}/json/{table}.jsonl')"
    ).fetchall()[0][0]
    assert count == from_parquet == from_csv == from_json == len(csv), table
    print(f"DuckDB {duckdb.__version__}: {table}, {count} rows")

for run in runs["run"]:
    events = EventAccumulator(str(root / "tensorboard" / run), size_guidance={"scalars": 0})
    events.Reload()
    tags = events.Tags()["scalars"]
    assert any(tag.startswith("resources/") for tag in tags), tags
    metadata = events.SummaryMetadata("_hparams_/session_start_info")
    data = plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content)
    settings = {name: value.number_value for name, value in data.session_start_info.hparams.items()}
    assert settings, settings
    row = runs[runs["run"] == run].iloc[0]
    for name, value in settings.items():
        assert row[name] == value, (name, row[name], value)
    losses = events.Scalars("loss")
    assert losses, tags
    print(f"TensorBoard: {run}, {len(tags)} scalars, {settings}, {len(losses)} losses")

for path in sorted((root / "openmetrics").iterdir()):
    families = list(text_string_to_metric_families(path.read_text()))
    assert families, path
    samples = sum(len(family.samples) for family in families)
    print(f"OpenMetrics: {path.name}, {len(families)} families, {samples} samples")

"""Reads the tables of a record with pandas, polars and DuckDB, as they are.

    python readers.py ../compat/v1/finished

Compares every cell that the three see, and the types of the columns, and
prints what was seen. `readers.txt` is the output for compat/v1/finished.
"""

import math
import sys
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow

TABLES = ["samples/gpu-01.parquet", "samples/gpu-01.parts.parquet", "events.parquet"]


def plain(value):
    """One spelling for a missing value, a time and a number."""
    if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return None
    if hasattr(value, "timestamp"):
        return round(value.timestamp() * 1_000_000)
    return value


def rows(columns, records):
    return [[plain(record[c]) for c in columns] for record in records]


def check_values(samples):
    """The values that `full_sample` of tests/specimen put there."""
    for row, record in enumerate(samples.to_dicts()):
        second = row + 1
        assert record["elapsed_s"] == (second * 1_000_000 + 17) / 1e6
        assert record["gap"] == ("late" if second % 5 == 4 else None)
        for i, name in enumerate(samples.columns[4:]):
            whole = name.endswith(("_bytes", "_count"))
            assert record[name] == (second * 1000 + i if whole else second + i / 64), name


def main(run):
    for module in (pd, pl, duckdb, pyarrow):
        print(module.__name__, module.__version__)
    for table in TABLES:
        path = str(Path(run) / table)
        a, b = pd.read_parquet(path), pl.read_parquet(path)
        c = duckdb.sql(f"select * from '{path}'")
        columns = list(a.columns)
        assert columns == b.columns == c.columns
        # As microseconds: DuckDB's Python client needs pytz to return a time.
        micros = duckdb.sql(f"select * replace (epoch_us(time) as time) from '{path}'")
        ducks = [dict(zip(c.columns, row)) for row in micros.fetchall()]
        # pandas has no missing integer of its own: it widens such columns to
        # float64, whose values are compared as numbers.
        assert rows(columns, a.to_dict("records")) == rows(columns, b.to_dicts())
        assert rows(columns, b.to_dicts()) == rows(columns, ducks)
        if table == "samples/gpu-01.parquet":
            check_values(b)
        print(f"\n{table}: {len(a)} rows, {len(columns)} columns, equal in all three")
        seen = {}
        for name in columns:
            kinds = (str(a.dtypes[name]), str(b.schema[name]), str(c.types[c.columns.index(name)]))
            seen.setdefault(kinds, []).append(name)
        for (x, y, z), names in seen.items():
            shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
            print(f"  pandas {x}, polars {y}, DuckDB {z}: {shown}")


main(sys.argv[1])

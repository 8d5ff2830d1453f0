"""Where traffic jams build up, with Polars: python examples/reading/with_polars.py WAREHOUSE"""

import sys

import polars as pl

# Where the path has blanks, which Polars mistakes: pl.scan_pyarrow_dataset(...) of the data set in with_duckdb.py.
found = (
    pl.scan_delta(f"{sys.argv[1]}/ride_sharing__slowing_down")
    .select("district", "window_start", "count", pl.col("avg_t_speed").round(1).alias("speed"))
    .sort("count", "district", "window_start", descending=[True, False, False])
    .head(5)
    .collect()
)
print(found)

"""Where traffic jams build up, with DuckDB: python examples/reading/with_duckdb.py WAREHOUSE"""

import sys

import deltalake
import duckdb
from pyarrow import fs

path = f"{sys.argv[1]}/ride_sharing__slowing_down"
# Arrow opens the files itself, which is fastest and knows every name of a folder.
files = fs.SubTreeFileSystem(path, fs.LocalFileSystem())
slowing_down = deltalake.DeltaTable(path).to_pyarrow_dataset(filesystem=files)

duckdb.sql("SET TimeZone = 'UTC'")
found = duckdb.sql("""
    SELECT district, window_start, count, round(avg_t_speed, 1) AS speed
    FROM slowing_down ORDER BY count DESC, district, window_start LIMIT 5
""")
print(found)

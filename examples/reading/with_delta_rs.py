"""Where traffic jams build up, with delta-rs alone: python examples/reading/with_delta_rs.py WAREHOUSE"""

import sys

import deltalake
import pyarrow as pa

table = deltalake.DeltaTable(f"{sys.argv[1]}/ride_sharing__slowing_down")
found = (
    deltalake.QueryBuilder()
    .register("slowing_down", table)
    .execute("""
        SELECT district, window_start, count, round(avg_t_speed, 1) AS speed
        FROM slowing_down ORDER BY count DESC, district, window_start LIMIT 5
    """)
    .read_all()
)
for row in pa.table(found).to_pylist():
    print(*row.values(), sep="\t")

# Every version of a table can be read again, and every row says which run made it.
print(f"version {table.version()} of {table.metadata().description}")

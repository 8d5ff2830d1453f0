"""Where traffic jams build up, with pandas: python examples/reading/with_pandas.py WAREHOUSE"""

import sys

import deltalake
from pyarrow import fs

path = f"{sys.argv[1]}/ride_sharing__slowing_down"
files = fs.SubTreeFileSystem(path, fs.LocalFileSystem())
frame = deltalake.DeltaTable(path).to_pandas(filesystem=files)

largest = frame.sort_values(["count", "district", "window_start"], ascending=[False, True, True]).head(5)
print(largest[["district", "window_start", "count", "avg_t_speed"]].round(1).to_string(index=False))

"""Where traffic jams build up, with Spark SQL: python examples/reading/with_spark.py WAREHOUSE

The session is the pipeline's; any Spark with Delta will do.
"""

import sys

from resources.spark import spark_session

spark = spark_session()
table = f"{sys.argv[1]}/ride_sharing__slowing_down"
spark.read.format("delta").load(table).createOrReplaceTempView("slowing_down")
spark.sql("""
    SELECT district, window_start, count, round(avg_t_speed, 1) AS speed
    FROM slowing_down ORDER BY count DESC, district, window_start LIMIT 5
""").show(truncate=False)

# The long table has all queries of all workloads, a row an aggregate.
spark.read.format("delta").load(f"{sys.argv[1]}/trend_aggregates").groupBy("query").count().orderBy(
    "query"
).show()

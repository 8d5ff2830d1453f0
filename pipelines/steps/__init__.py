"""Steps: what the pipeline does on Spark; settings and tables in, tables and a report out; no Dagster."""

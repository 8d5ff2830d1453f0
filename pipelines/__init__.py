"""Pipelines: files in, trend aggregates out; readers, Spark steps, Dagster assets and the command line."""

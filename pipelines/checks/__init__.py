"""Checks: are the tables right? The GRETA comparison and the Great Expectations suites; no Dagster."""

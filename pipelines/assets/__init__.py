"""Assets: Dagster only and thin: read the configuration, do one step, say what was written."""

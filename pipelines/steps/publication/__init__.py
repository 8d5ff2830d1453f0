"""`computed_aggregates` -> `trend_aggregates`, and a wide table per query."""

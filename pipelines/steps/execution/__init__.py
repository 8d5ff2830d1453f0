"""`events` -> `computed_aggregates` and `sharing_decisions`: which tasks there are, what each does, what is kept."""

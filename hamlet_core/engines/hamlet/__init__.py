"""The compiled engine: a whole workload folded in one pass over the events, lanes innermost. `engine` and `passes` are its door."""

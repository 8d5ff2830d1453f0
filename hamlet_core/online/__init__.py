"""A workload over events that arrive: what came is held as long as open windows need it, and rows are given out once."""

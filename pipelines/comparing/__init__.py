"""Comparing: a workload and events in, what each engine takes for them out, each in a process of its own, answers checked."""

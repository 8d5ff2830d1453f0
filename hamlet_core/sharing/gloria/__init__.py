"""GLORIA's optimizer: one static plan for a workload of sequences and Kleene bodies, found as a cheapest path.

Source: Ma et al., "GLORIA: Graph-based Sharing Optimizer for Event Trend Aggregation" (SIGMOD 2022).
"""

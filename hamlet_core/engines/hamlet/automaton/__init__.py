"""The steps of the general kernel: paths, trees, sets of positions, negation, conditions on pairs of events."""

"""The optimizer of HAMLET: which queries share the burst in hand, and why. Sees numbers, never events or graphlets."""

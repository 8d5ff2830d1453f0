"""The optimizers: who shares what, and why. They see numbers and names, never events or graphlets."""
"""The optimizers: which queries share, and why. They see numbers, never events or graphlets."""

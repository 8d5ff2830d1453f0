"""The optimizers: who shares what, and why. They see numbers and names, never events or graphlets."""

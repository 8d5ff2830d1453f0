"""Sharing at run time: bursts, who shares each, snapshot lanes, and the log of what was decided."""

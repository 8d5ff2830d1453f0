"""Levels of records of the logger `hamlet`, besides those that everybody has."""

GOING_ON = 15
"""A step has begun: nobody shows such a record, but who shows that something is going on knows what."""

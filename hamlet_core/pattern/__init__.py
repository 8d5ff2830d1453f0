"""Meaning: syntax to position automaton, with negation, OR, AND and ambiguity decided before any event is read."""

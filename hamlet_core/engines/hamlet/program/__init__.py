"""The tables that the general kernel reads, written from the automata before any event."""

"""Sliding windows over events that arrive: panes are folded once and kept, and later windows are joined from them."""

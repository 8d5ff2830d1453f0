"""A fast path for sliding windows: each pane is folded once, and windows are joined from panes."""

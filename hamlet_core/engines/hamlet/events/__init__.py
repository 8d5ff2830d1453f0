"""The general kernel: one window after the other, event by event."""

"""A fast path beside the general kernel: a run of events of one type is one step, for all open windows at once."""

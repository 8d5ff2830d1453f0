"""Viable prefixes that wait for what prolongs them: matching modes, and what is counted of trends and partitions."""

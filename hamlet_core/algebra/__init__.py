"""The algebra of trend aggregates: numbers that never overflow, and what an event does to a running total."""

"""What people read of a workload: every stage, plans of sharing, warnings, and why a number is what it is."""

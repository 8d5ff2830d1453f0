"""Files of a user -> `events`, `events_quarantine` and the ledger of what is in."""

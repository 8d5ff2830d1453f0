"""Many queries of one mode in one fold: what happens to prefixes once, what they have gathered lane by lane."""

"""What is on record: typed events on a log, and what they add up to."""

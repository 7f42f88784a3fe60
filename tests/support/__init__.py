"""What several test files share: builders, Hypothesis strategies, and strict checks of what providers accept."""

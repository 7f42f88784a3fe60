"""Whole conversations to run a context through: real agents, real tools, a real table, and a model that needs no key."""

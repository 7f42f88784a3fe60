"""What ships for testing: a model that obeys what it sees, summarizers that go wrong, and runnable scenarios.

Names are imported from their own modules (`testing.obedient`, `testing.scenarios.order_assistant`), so that importing one loads
no other.
"""

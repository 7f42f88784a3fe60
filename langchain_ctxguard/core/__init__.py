"""What is decided: pure functions over the values of `domain`. Same input, same answer."""

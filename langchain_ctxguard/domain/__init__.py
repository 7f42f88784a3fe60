"""What is known: frozen values, no behaviour beyond reading themselves."""

"""What became of a run, for people: read from a store or a transcript, told as one HTML page or as Markdown."""

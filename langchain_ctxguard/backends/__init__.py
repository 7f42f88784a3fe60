"""Who summarizes, how tokens are counted, how transcripts are read: the replaceable parts behind `ports`."""

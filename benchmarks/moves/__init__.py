"""What every move of the search gains per second, and what it costs to leave it out."""

"""Time of k-member and Mondrian on Adult, and of encoding a million rows."""

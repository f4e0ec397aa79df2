"""Precision and recall of the roles that shoal init guesses, on labelled tables."""

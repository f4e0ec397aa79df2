"""Attacks on a release, so that its holder learns first what others could."""

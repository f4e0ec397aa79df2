"""Measures, one small file each: formula, citation, bounds, per-column breakdown."""

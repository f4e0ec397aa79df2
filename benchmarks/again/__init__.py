"""Twelve monthly releases of one register: beside one another, and ignoring one another."""

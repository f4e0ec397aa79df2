"""Attacks on releases of Adult."""

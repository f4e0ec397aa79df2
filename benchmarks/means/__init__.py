"""Squared error of published means: MDAV and V-MDAV, plain and refined, on tables of numbers."""

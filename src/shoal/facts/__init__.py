"""Aggregates of a run that the report draws from; what they may tell is said in `gather`."""

from shoal.facts.bars import Bar
from shoal.facts.gather import ColumnFacts, Facts, gather_facts

__all__ = ["Bar", "ColumnFacts", "Facts", "gather_facts"]

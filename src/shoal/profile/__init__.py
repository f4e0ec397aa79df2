"""Looks at a table and suggests a job: roles, kinds, hierarchies, missing values, k."""

from __future__ import annotations

from shoal.profile.guess import Guess
from shoal.profile.suggest import Suggestion, suggest_job

__all__ = ["Guess", "Suggestion", "suggest_job"]

"""Looks at a table and suggests a job: roles, kinds, hierarchies, missing values, k."""

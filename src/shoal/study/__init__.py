"""Studies of a table by many runs: what costs most in a release, which settings pay."""

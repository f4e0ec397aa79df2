"""Between codes and groups: scans, enforcing promises, refining, leaving out, bounds."""

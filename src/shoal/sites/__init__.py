"""One release of rows that several sites hold, none of which shows its rows to anybody.

    keys ─► agreement ─► wire (TLS) ─► sharing (sums of shares) ─► regions ─► site, coordinator

docs/sites.md says who learns what.
"""

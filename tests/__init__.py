"""A package only so that helpers have one address, whatever else is installed."""

"""Groups of at least 3 under a limit on the average risk, beside one k for all."""

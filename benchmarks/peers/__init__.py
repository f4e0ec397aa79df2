"""Other packages that k-anonymize tables, beside Shoal, on the same rows."""

"""Pages of 300,000 rows and 40 columns: the time of every answer, and memory."""

"""Files of a million rows and more: time, memory, threads, and how time grows."""

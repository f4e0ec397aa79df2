"""Processes, threads, memory, progress and time: what a run needs of the machine."""

"""Seconds that first commands spend on compiling, where nothing is compiled yet."""

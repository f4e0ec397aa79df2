"""Tables in and out of files and databases, and writes that are whole or do not happen.

Polars is imported when the first table is read or written, not before.
"""

"""The life of a release after its first day: kept, applied to further rows, released again."""

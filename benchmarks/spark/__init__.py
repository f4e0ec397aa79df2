"""Loss and time on Spark beside the engine of one machine."""

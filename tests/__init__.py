"""The tests mirror the sources; what holds for all stands in laws/ and house/."""

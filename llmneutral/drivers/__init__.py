"""Drivers: the only floor that waits, talks and spends."""

"""The workshop: everything a transport is made of. Pure, and it knows no API by name."""

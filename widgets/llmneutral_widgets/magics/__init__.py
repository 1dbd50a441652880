"""What stands behind `%load_ext llmneutral`: the six magics, one module for what belongs together."""

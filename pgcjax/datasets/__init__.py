"""A small made-up collection, shipped with the package, and the simulator behind it."""

"""Use of machines: devices, the loop of calls, processes."""

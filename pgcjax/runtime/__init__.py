"""What computing needs of machines: devices, the loop of calls, processes."""

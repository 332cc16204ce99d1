"""What computing needs of machines: memory, devices, the loop of calls, processes."""

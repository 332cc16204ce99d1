"""What computing needs of the machine: memory, devices, and the loop of calls."""

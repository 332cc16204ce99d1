"""What computing needs of the machine: devices, and the loop of calls."""

"""What each measure is: name, parameters, tensors it needs, kernel, citation."""

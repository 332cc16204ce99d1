"""Measurements that pages of docs/ rest on; nothing else is timed beside."""

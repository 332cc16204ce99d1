"""Readers of files that other tools write: a file each, with its `READER`.

They are imported when no reader of io/ takes a file, or one of them is named.
"""

"""Readers of files that other tools write: each is a module with a `READER`.

They are imported when no reader in io/ takes a file, or when the user names one.
"""

"""Generator of the client: see generate.py."""

"""Ground floor: numbers with errors, curves, random streams, registries, errors, arrays.

Nothing here knows of learning.
"""

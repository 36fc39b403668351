"""The expression language: text -> checked tree -> values, derivatives, LaTeX, structure.

The text that a user types is parsed by hand and never evaluated by Python.
"""

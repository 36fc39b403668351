"""The law of the projections given the label.

Three questions, each with a folder that holds one general rule and the exact ones that are worth
it: :mod:`.samples` (posteriors, for message passing), :mod:`.averages` (for state evolution) and
:mod:`.conditional` (conditional moments, for thresholds). :mod:`.rules` chooses among them.
"""

MAX_DIRECTIONS = 4

"""The law of the projections given the label.

Three questions, each with a folder that holds one general rule and the exact ones that are worth
it: :mod:`.samples` (posteriors, for message passing), :mod:`.averages` (for state evolution) and
:mod:`.conditional` (conditional moments, for thresholds). :mod:`.rules` chooses among them.

The last two cut labels into slices, each in its own way. Averages need two derivatives at every
prior mean, from one table. Conditional moments need any order at one prior, and must tell a moment
that vanishes from a small one: they multiply sums of independent replicates only.
"""

MAX_DIRECTIONS = 4

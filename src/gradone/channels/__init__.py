"""The law of the projections given the label: posteriors of samples, averages over labels.

One general rule for each: :mod:`.samples` for the samples of a learner, :mod:`.averages` for state
evolution. :mod:`.discrete` has the probabilities of labels with finitely many values to five
digits.
"""

MAX_DIRECTIONS = 4

"""The parts of the feature learners: proposals of directions, their refinement, and the stack."""

"""What is learned: the expression language, targets, their samples and output channels."""

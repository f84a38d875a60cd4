"""What is recorded of each row before it is learnt from: losses, quantiles of residuals."""

"""How a row becomes a loss and slopes for the weight vectors, and how several candidates are combined."""

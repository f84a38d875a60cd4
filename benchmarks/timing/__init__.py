"""The lines of the speed benchmark: a work of ours beside the same of a peer."""

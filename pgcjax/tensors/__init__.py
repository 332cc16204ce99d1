"""Tables to padded, bucketed arrays: the only place that knows about padding."""

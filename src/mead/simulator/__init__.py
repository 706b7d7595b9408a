"""The virtual-time engine: a pipeline under a recorded or generated trace, tuple by tuple, exactly."""

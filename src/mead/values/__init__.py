"""What the control loop knows: the pipeline, its requirements, what was observed and what was decided."""

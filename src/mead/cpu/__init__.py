"""Resource managers: they give the worker processes of an operator their CPU share, live."""

"""Two levels of control, splitting of panes and numbers of workers, and K-slack."""

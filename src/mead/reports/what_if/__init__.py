"""What-if answers: other policies, other bounds, other allocations, and savings. Some load the simulator."""

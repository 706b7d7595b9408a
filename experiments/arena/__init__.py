"""Every policy on every workload: the contest, its leaderboard, and what is printed of it."""

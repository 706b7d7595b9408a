"""Control of a backlog as a Markov decision process: the arrivals, the best decision, and the loop that it closes."""

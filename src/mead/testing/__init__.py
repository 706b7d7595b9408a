"""The conformance suite: checks that every policy has to pass, for authors of policies."""

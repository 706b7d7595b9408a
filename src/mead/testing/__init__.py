"""For those who write policies: what a policy has to keep to, as checks that anybody can run."""

"""Spark on this machine: session, fast profile, Java, Python workers, and checks."""

"""The log analysis of the MEAD paper: a parser, and behind it a counter and a matcher that each get every parsed line.

Functions on Arrow batches have the columns of their result beside them, as ``OUTPUT_SCHEMA``; a module without one has
a transformation of streams.
"""

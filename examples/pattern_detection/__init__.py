"""Frequent patterns of the DRS paper: which words come together in the posts of a sliding window, kept up to date.

A generator makes candidates, a detector counts them and tells itself what has become frequent, a reporter writes down
what has changed (Fu et al., "DRS: Auto-Scaling for Real-Time Stream Analytics", ToN 2017, Fig. 5).
"""

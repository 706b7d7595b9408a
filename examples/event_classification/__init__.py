"""The four applications of the PA-SPS paper: classify tweets, DNS queries, log lines, and news.

Three are a chain of four operators, the fourth a graph of eight (Wladdimiro et al., JPDC 192, 2024, Figs. 7, 11, 12 and
14). All share the operators in `operators`; the events are generated in `events`.
"""

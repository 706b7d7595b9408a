"""Logo detection of the DRS paper: which of a set of logos are in the frames of a video.

An extractor finds features, a matcher compares each with those of the logos, an aggregator decides for every frame (Fu
et al., "DRS: Auto-Scaling for Real-Time Stream Analytics", ToN 2017, Fig. 4).
"""

from mead.extras import require

require("vision", "logo detection")

"""From raw readings to what the models need: arrivals, response times in sketches, service demands, overheads."""

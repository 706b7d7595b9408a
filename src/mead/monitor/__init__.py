"""From raw readings to what the models need: service demands, estimated while the pipeline runs."""

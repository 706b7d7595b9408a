"""Policy ``drs`` (Fu et al. 2017): replicas from a network of queues."""

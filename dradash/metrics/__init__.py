"""What Prometheus reads: docs/metrics.md lists it."""

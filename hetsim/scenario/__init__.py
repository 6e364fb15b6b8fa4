"""Scenario files: schema, loader, overrides, and their way into the model."""

"""Placement policies, one file each, and the view that they see."""

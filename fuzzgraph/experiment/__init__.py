"""Measurements of campaigns, taken offline from what they saved."""

"""The equations of motion in canonical form, and their compiled calls."""

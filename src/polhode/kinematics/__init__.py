"""Poses, twists and Jacobians by recursion over the tree."""

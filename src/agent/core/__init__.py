"""Serve every part of the program; import nothing of ours."""

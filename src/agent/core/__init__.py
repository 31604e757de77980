"""What every part of the program stands on; imports nothing of ours."""

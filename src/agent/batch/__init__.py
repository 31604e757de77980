"""Many questions from one file: read, run, written row by row, resumed, scored."""

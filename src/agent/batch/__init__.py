"""Run many questions from one file: read, answer, write row by row, resume, score."""

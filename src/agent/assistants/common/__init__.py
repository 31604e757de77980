"""What all four assistants do: begin and end a turn, read the thread, write the message."""

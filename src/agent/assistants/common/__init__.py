"""Do what all four assistants need: begin and end a turn, read the thread, write the message."""

"""Further assistants beside `agent`, each in a folder of its own."""

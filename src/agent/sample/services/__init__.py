"""Speak the providers' protocols on loopback, for the sample and as the tests' stand-ins."""

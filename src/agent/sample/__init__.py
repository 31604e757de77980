"""Run the sample mode, which answers over a bundled corpus where no key is set."""

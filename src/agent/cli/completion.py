"""Run `tanlu completion`: print what makes a shell complete commands and options."""

from argparse import Namespace

from argcomplete.shell_integration import shellcode

from agent.cli.console import ANSWERED


def run(arguments: Namespace) -> int:
    """0; how each shell takes it stands in `tanlu completion --help`."""
    print(shellcode(["tanlu"], shell=arguments.shell))  # noqa: T201
    return ANSWERED

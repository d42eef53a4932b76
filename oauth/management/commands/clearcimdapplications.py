"""Replaces the toolkit's command: the same clean-up as prune_oauth."""

from oauth.management.commands import prune_oauth


class Command(prune_oauth.Command):
    help = "The same as prune_oauth: delete unused clients and expired credentials."

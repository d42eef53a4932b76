"""The folders for messages to the background worker, for deployments without Redis."""

from pathlib import Path
from typing import Final

from django.conf import settings

FOLDERS: Final = ("data_folder_in", "data_folder_out", "control_folder")


def make_folders() -> None:
    """Creates the folders in which messages are files; the transport creates only some of them."""
    for name in FOLDERS:
        folder = settings.CELERY_BROKER_TRANSPORT_OPTIONS.get(name)
        if folder:
            Path(str(folder)).mkdir(parents=True, exist_ok=True)

"""Where messages to the background worker wait when no Redis keeps them."""

from pathlib import Path
from typing import Final

from django.conf import settings

FOLDERS: Final = ("data_folder_in", "data_folder_out", "control_folder")


def make_folders() -> None:
    """Without Redis, messages are files here; the transport makes only some of its folders."""
    for name in FOLDERS:
        folder = settings.CELERY_BROKER_TRANSPORT_OPTIONS.get(name)
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)

"""Back-ups of a deployment: the database, the files of the data folder and the keys in one file."""

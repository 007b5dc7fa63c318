"""What talks with the operating system: files, streams, processes, progress on a terminal."""

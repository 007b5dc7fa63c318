"""Questions over uncertain numbers."""

"""Commands about rundry itself: settings, keys, help, the manual page, completion."""

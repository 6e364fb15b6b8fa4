"""Hardware, data sets and measured step times as data."""

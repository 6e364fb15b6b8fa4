"""Networks as layers, step times, memory."""

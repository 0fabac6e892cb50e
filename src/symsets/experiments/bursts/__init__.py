"""One sharp picture from five shaken, noisy shots."""

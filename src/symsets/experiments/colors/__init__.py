"""Which of six grey pictures belong together, and in which colours?"""

"""Which of eight shuffled frames of a video came first?"""

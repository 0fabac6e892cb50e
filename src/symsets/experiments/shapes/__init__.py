"""Which of seven shuffled frames of a moving human is the middle?"""

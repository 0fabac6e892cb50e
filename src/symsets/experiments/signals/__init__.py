"""Which wave is behind 25 noisy copies of it?"""

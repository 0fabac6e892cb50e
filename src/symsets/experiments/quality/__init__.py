"""Which of twenty degraded copies is closest to the photograph?"""

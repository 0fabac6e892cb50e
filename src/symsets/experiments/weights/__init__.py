"""Pictures as the weights of small networks that draw them."""

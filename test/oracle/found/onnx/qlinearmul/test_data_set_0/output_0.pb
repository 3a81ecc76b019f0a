Boutput0J
ü

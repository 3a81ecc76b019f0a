
Boutput0J\
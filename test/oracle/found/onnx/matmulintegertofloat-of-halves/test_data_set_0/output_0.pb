
Boutput0Jκέ
B
max_lengthJÿÿÿ
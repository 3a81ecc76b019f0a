Boutput0J Z)2d!t.4u.m1#R14av>5I`?
cj
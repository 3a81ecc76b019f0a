
Binput2Jf.f2
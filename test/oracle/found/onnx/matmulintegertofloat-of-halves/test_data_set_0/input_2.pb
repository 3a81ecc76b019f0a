
Binput2Jf.
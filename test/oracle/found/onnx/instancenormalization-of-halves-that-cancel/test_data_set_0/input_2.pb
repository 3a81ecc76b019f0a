
Binput2JôÍÎF
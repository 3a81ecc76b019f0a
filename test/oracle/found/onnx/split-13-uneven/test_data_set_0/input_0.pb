Binput0Jq=J¿®G!¿
×£¿®G¡?š™¾
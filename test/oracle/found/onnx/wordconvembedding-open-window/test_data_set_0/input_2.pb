Binput2J¸…¿
×£>
Binput2J)\ï?=
?

Binput1J±O€Õ
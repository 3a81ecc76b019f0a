Binput2JHZ$
'"^V9
Binput7J
ף<
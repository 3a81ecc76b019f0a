
u
x0Const*[
valueRBPF"Fdefghijklmnopqrstuvwxyz{|}~€‚ƒ„…†‡ˆ‰Š‹Œ‘’“”•–—˜™š›œŸ ¡¢£¤¥¦§¨©*
dtype0

node
MatrixDiagx0*
T0"ª
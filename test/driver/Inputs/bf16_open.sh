# usage: bf16_open.sh PYTHON TESTS FOLDER B=… H=… W=… R=… Z=… [near]
#
# Whether FOLDER/m.so gives the bits of the model compiled for these sizes, on one thread and five;
# `near`: what is a rounding of bf16 away from them.
set -e
python=$1 tests=$2 folder=$3 near= dims= sizes=
shift 3
for word in "$@"; do
  if [ "$word" = near ]; then near=1; else dims="$dims --dim=$word" sizes="$sizes $word"; fi
done
$python "$tests/driver/Inputs/bf16_model.py" "$tests" "$folder/in.npz" feeds $sizes
rm -rf "$folder/known" "$folder/open1" "$folder/open5"
weir-run "$folder/m.onnx" --precision=bf16 --cache=off $dims --input="$folder/in.npz" --threads=2 --output="$folder/known"
for threads in 1 5; do
  weir-run "$folder/m.so" --input="$folder/in.npz" --threads=$threads --output="$folder/open$threads"
  for file in "$folder"/known/*; do
    other="$folder/open$threads/$(basename "$file")"
    if [ "$near" ]; then $python "$tests/digits/compare.py" "$other" "$file" 0.016; else cmp "$file" "$other"; fi
  done
done

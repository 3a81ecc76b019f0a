func.func @main(%a: tensor<?x?x?xf32> {weir.name = "a"}, %b: tensor<?x?x?xf32> {weir.name = "b"}, %c: tensor<?x?xf32> {weir.name = "c"})
    -> (tensor<?x?x?xf32> {weir.name = "z"}) attributes {weir.entry = "main"} {
  %0 = weir.add %a, %b : (tensor<?x?x?xf32>, tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %1 = weir.mul %0, %c : (tensor<?x?x?xf32>, tensor<?x?xf32>) -> tensor<?x?x?xf32>
  return %1 : tensor<?x?x?xf32>
}

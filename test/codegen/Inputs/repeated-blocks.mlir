func.func @main(%a: tensor<?x1x3xf32> {weir.name = "a"}, %b: tensor<?x?x6xf32> {weir.name = "b"}, %c: tensor<2x1x1x5xi1> {weir.name = "c"},
    %d: tensor<?x?x?x?xf32> {weir.name = "d"}, %e: tensor<7x11xf32> {weir.name = "e"})
    -> (tensor<9x4000x3xf32> {weir.name = "x"}, tensor<?x?x6xf32> {weir.name = "y"}, tensor<2x7x90x5xi1> {weir.name = "z"},
        tensor<?x?x?x?xf32> {weir.name = "v"}, tensor<70x99xf32> {weir.name = "w"}) attributes {weir.entry = "main"} {
  %0 = weir.constant dense<[9, 4000, 3]> : tensor<3xi64>
  %1 = weir.constant dense<[1, 300, 1]> : tensor<3xi64>
  %2 = weir.constant dense<[2, 7, 90, 5]> : tensor<4xi64>
  %x = weir.broadcast_to %a, %0 : (tensor<?x1x3xf32>, tensor<3xi64>) -> tensor<9x4000x3xf32>
  %y = weir.tile %b, %1 : (tensor<?x?x6xf32>, tensor<3xi64>) -> tensor<?x?x6xf32>
  %z = weir.broadcast_to %c, %2 : (tensor<2x1x1x5xi1>, tensor<4xi64>) -> tensor<2x7x90x5xi1>
  %3 = weir.constant dense<[2, 3, 1, 2]> : tensor<4xi64>
  %4 = weir.constant dense<[10, 9]> : tensor<2xi64>
  %v = weir.tile %d, %3 : (tensor<?x?x?x?xf32>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
  %w = weir.tile %e, %4 : (tensor<7x11xf32>, tensor<2xi64>) -> tensor<70x99xf32>
  return %x, %y, %z, %v, %w : tensor<9x4000x3xf32>, tensor<?x?x6xf32>, tensor<2x7x90x5xi1>, tensor<?x?x?x?xf32>, tensor<70x99xf32>
}

func.func @main(%x: tensor<?x?x?xf32> {weir.name = "x"}, %m: tensor<?x?x?xi1> {weir.name = "m"})
    -> (tensor<?x?x?xf32> {weir.name = "inner"}, tensor<?x?x?xf32> {weir.name = "reversed"}, tensor<?x?x?xf32> {weir.name = "padded"}, tensor<?x?x?xf32> {weir.name = "tiled"}, tensor<?x?x?xi1> {weir.name = "backwards"}, tensor<?x?x?xi1> {weir.name = "corner"}) attributes {weir.entry = "main"} {
  %one = weir.constant dense<1> : tensor<1xi64>
  %minus = weir.constant dense<-1> : tensor<1xi64>
  %inner = weir.slice %x, %one, %minus, %one {axes = array<i64: 0>, strict = false} : (tensor<?x?x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?x?xf32>
  %reversed = weir.reverse %x {axes = array<i64: 0>} : (tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %pads = weir.constant dense<[1, 2, 0, 2, 0, 0]> : tensor<6xi64>
  %value = weir.constant dense<0.5> : tensor<f32>
  %padded = weir.pad %x, %pads, %value {mode = "constant"} : (tensor<?x?x?xf32>, tensor<6xi64>, tensor<f32>) -> tensor<?x?x?xf32>
  %repeats = weir.constant dense<[1, 1, 3]> : tensor<3xi64>
  %tiled = weir.tile %x, %repeats : (tensor<?x?x?xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  %before = weir.constant dense<-1000000> : tensor<1xi64>
  %backwards = weir.slice %m, %minus, %before, %minus {axes = array<i64: 0>, strict = false} : (tensor<?x?x?xi1>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?x?xi1>
  %starts = weir.constant dense<[0, 1]> : tensor<2xi64>
  %ends = weir.constant dense<1000000> : tensor<2xi64>
  %steps = weir.constant dense<[2, 1]> : tensor<2xi64>
  %corner = weir.slice %m, %starts, %ends, %steps {axes = array<i64: 0, 1>, strict = false} : (tensor<?x?x?xi1>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?x?xi1>
  return %inner, %reversed, %padded, %tiled, %backwards, %corner : tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?xi1>, tensor<?x?x?xi1>
}

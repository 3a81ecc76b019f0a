// Reductions that GPUs do together, and some that they do not.
module {
  func.func @together(%a: tensor<30x50xf32> {weir.name = "a"}) -> (tensor<30x50xf32> {weir.name = "x"}, tensor<30x50xf32> {weir.name = "y"}) attributes {weir.entry = "together"} {
    %0 = weir.tanh %a : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("zero.part")
    %1 = weir.exp %a : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("one.part")
    %2 = weir.all_reduce %0, %1 {kind = "sum"} : (tensor<30x50xf32>, tensor<30x50xf32>) -> tensor<30x50xf32> loc("zero.all")
    %3 = weir.sin %2 : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("zero.use")
    %4 = weir.cos %2 : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("one.use")
    return %3, %4 : tensor<30x50xf32>, tensor<30x50xf32>
  }
  // Only one of them uses it.
  func.func @one_user(%a: tensor<30x50xf32> {weir.name = "a"}) -> (tensor<30x50xf32> {weir.name = "x"}) attributes {weir.entry = "one_user"} {
    %0 = weir.tanh %a : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("zero.lone")
    %1 = weir.exp %a : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("one.lone")
    %2 = weir.all_reduce %0, %1 {kind = "sum"} : (tensor<30x50xf32>, tensor<30x50xf32>) -> tensor<30x50xf32> loc("zero.lone_all")
    %3 = weir.sin %2 : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("one.lone_use")
    return %3 : tensor<30x50xf32>
  }
  // Two operands are of one GPU.
  func.func @three(%a: tensor<30x50xf32> {weir.name = "a"}) -> (tensor<30x50xf32> {weir.name = "x"}, tensor<30x50xf32> {weir.name = "y"}) attributes {weir.entry = "three"} {
    %0 = weir.tanh %a : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("zero.first")
    %1 = weir.exp %a : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("one.second")
    %2 = weir.sin %a : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("one.third")
    %3 = weir.all_reduce %0, %1, %2 {kind = "max"} : (tensor<30x50xf32>, tensor<30x50xf32>, tensor<30x50xf32>) -> tensor<30x50xf32> loc("zero.three")
    %4 = weir.sin %3 : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("zero.three_use")
    %5 = weir.cos %3 : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("one.three_use")
    return %4, %5 : tensor<30x50xf32>, tensor<30x50xf32>
  }
  // NCCL has no integers of 16 bits.
  func.func @words(%a: tensor<30x50xi16> {weir.name = "a"}) -> (tensor<30x50xi16> {weir.name = "x"}, tensor<30x50xi16> {weir.name = "y"}) attributes {weir.entry = "words"} {
    %0 = weir.neg %a : (tensor<30x50xi16>) -> tensor<30x50xi16> loc("zero.word")
    %1 = weir.abs %a : (tensor<30x50xi16>) -> tensor<30x50xi16> loc("one.word")
    %2 = weir.all_reduce %0, %1 {kind = "sum"} : (tensor<30x50xi16>, tensor<30x50xi16>) -> tensor<30x50xi16> loc("zero.words")
    %3 = weir.neg %2 : (tensor<30x50xi16>) -> tensor<30x50xi16> loc("zero.words_use")
    %4 = weir.abs %2 : (tensor<30x50xi16>) -> tensor<30x50xi16> loc("one.words_use")
    return %3, %4 : tensor<30x50xi16>, tensor<30x50xi16>
  }
  // What a run may not come by, all of its GPUs or none.
  func.func @branch(%c: tensor<i1> {weir.name = "c"}, %a: tensor<30x50xf32> {weir.name = "a"}) -> (tensor<30x50xf32> {weir.name = "x"}, tensor<30x50xf32> {weir.name = "y"}) attributes {weir.entry = "branch"} {
    %0 = weir.tanh %a : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("zero.before")
    %1 = weir.exp %a : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("one.before")
    %2:2 = weir.if %c : (tensor<i1>) -> (tensor<30x50xf32>, tensor<30x50xf32>) then {
      %3 = weir.all_reduce %0, %1 {kind = "sum"} : (tensor<30x50xf32>, tensor<30x50xf32>) -> tensor<30x50xf32> loc("zero.inner")
      %4 = weir.sin %3 : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("zero.inner_use")
      %5 = weir.cos %3 : (tensor<30x50xf32>) -> tensor<30x50xf32> loc("one.inner_use")
      weir.yield %4, %5 : tensor<30x50xf32>, tensor<30x50xf32>
    } else {
      weir.yield %0, %1 : tensor<30x50xf32>, tensor<30x50xf32>
    } loc("zero.if")
    return %2#0, %2#1 : tensor<30x50xf32>, tensor<30x50xf32>
  }
}

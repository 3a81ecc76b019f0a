"""Writes gradient.mlir, sums.mlir and turns.mlir into a folder: networks whose early
values are needed late, so that a limit is kept only by computing again, or by fusing
less. In turns.mlir a loop's body is such a network."""
import sys

ROWS, WIDTH, LENGTH = 64, 64, 10
T = f"tensor<{ROWS}x{WIDTH}xf32>"
PLAIN = "lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, accumulator = f32"


def dot(result, x, w, axis, name):
    return (f"  {result} = weir.dot_general {x}, {w} {{{PLAIN}, rhs_contract = array<i64: {axis}>}} : "
            f"({T}, tensor<{WIDTH}x{WIDTH}xf32>) -> {T} loc(\"{name}\")\n")


def binary(result, kind, a, b, name):
    return f"  {result} = weir.{kind} {a}, {b} : ({T}, {T}) -> {T} loc(\"{name}\")\n"


def loop(body, last):
    """The same in each of three turns, from what the one before left."""
    count = "tensor<i32>"
    return (f"  %zero = weir.constant dense<0> : {count}\n"
            f"  %one = weir.constant dense<1> : {count}\n"
            f"  %three = weir.constant dense<3> : {count}\n"
            f"  %end:2 = weir.while %three, %x0 : ({count}, {T}) -> ({count}, {T}) while {{\n"
            f"  ^bb0(%i: {count}, %x: {T}):\n"
            f"  %go = weir.compare %i, %zero {{predicate = \"gt\"}} : ({count}, {count}) -> tensor<i1>\n"
            f"  weir.yield %go : tensor<i1>\n  }} do {{\n  ^bb0(%i: {count}, %x: {T}):\n"
            f"  %next = weir.sub %i, %one : ({count}, {count}) -> {count}\n{body}"
            f"  weir.yield %next, {last} : {count}, {T}\n  }}\n"), "%end#1"


def function(body, last):
    return (f"func.func @main(%x: {T} {{weir.name = \"x\"}}, %w: tensor<{WIDTH}x{WIDTH}xf32> "
            f"{{weir.name = \"w\"}}) -> ({T} {{weir.name = \"y\"}}) "
            f"attributes {{weir.entry = \"main\"}} {{\n{body}  return {last} : {T}\n}}\n")


def network():
    body, value = "", "%x"
    for i in range(LENGTH):
        body += dot(f"%p{i}", value, "%w", 0, f"dense{i}")
        body += f"  %v{i} = weir.tanh %p{i} : ({T}) -> {T} loc(\"tanh{i}\")\n"
        value = f"%v{i}"
    for i in reversed(range(LENGTH)):
        body += binary(f"%s{i}", "mul", f"%v{i}", f"%v{i}", f"square{i}")
        body += binary(f"%d{i}", "sub", value, f"%s{i}", f"slope{i}")
        body += dot(f"%g{i}", f"%d{i}", "%w", 1, f"gradient{i}")
        value = f"%g{i}"
    return body, value


def turns():
    return function(*loop(*network())).replace("main(%x:", "main(%x0:")


def sums():
    # Products of one chain, all of which wait for one sum.
    body, value = "", "%x"
    for i in range(LENGTH):
        body += dot(f"%p{i}", value, "%w", 0, f"dense{i}")
        body += f"  %v{i} = weir.tanh %p{i} : ({T}) -> {T} loc(\"tanh{i}\")\n"
        value = f"%v{i}"
    total = None
    for i in reversed(range(LENGTH)):
        body += dot(f"%q{i}", f"%v{i}", "%w", 1, f"out{i}")
        if total:
            body += binary(f"%t{i}", "add", total, f"%q{i}", f"sum{i}")
        total = f"%t{i}" if total else f"%q{i}"
    return function(body, total)


for name, text in (("gradient", function(*network())), ("sums", sums()), ("turns", turns())):
    with open(f"{sys.argv[1]}/{name}.mlir", "w") as file:
        file.write(text)

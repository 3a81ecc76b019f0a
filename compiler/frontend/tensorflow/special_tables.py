#!/usr/bin/env python3
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes SpecialTables.h: polynomials for special functions.

usage: special_tables.py > SpecialTables.h     (needs mpmath)

Each stands for a smooth function of one variable on an interval; what is not
smooth (logarithms, roots, oscillation) has been taken out of it, and
SpecialFunctions.cpp puts it back. Values are computed with 40 digits at
Chebyshev nodes; Chebyshev coefficients below 2^-58 of the largest are left out,
and the rest written as powers of the variable scaled to [-1, 1]. Intervals are
short enough for their sum not to lose digits.
"""
from mpmath import mp, mpf

mp.dps = 40
SERIES = []


def series(name, low, high, function, nodes=56):
    low, high = mpf(low), mpf(high)
    at = [mp.cos(mp.pi * (j + mpf(1) / 2) / nodes) for j in range(nodes)]
    values = [function((high + low) / 2 + (high - low) / 2 * t) for t in at]
    coefficients = []
    for k in range(nodes):
        total = sum(v * mp.cos(mp.pi * k * (j + mpf(1) / 2) / nodes)
                    for j, v in enumerate(values))
        coefficients.append(total * (1 if k == 0 else 2) / nodes)
    largest = max(abs(c) for c in coefficients)
    while abs(coefficients[-1]) < largest * mpf(2) ** -58:
        coefficients.pop()
    if len(coefficients) > nodes - 6:
        raise SystemExit(f'{name}: {len(coefficients)} coefficients')
    powers = monomials(coefficients)
    if sum(abs(p) for p in powers) > 12 * max(abs(v) for v in values):
        raise SystemExit(f'{name}: powers of {len(powers)} coefficients cancel')
    SERIES.append((name, low, high, powers))


def monomials(coefficients):
    """Powers of t of a Chebyshev series, by T_(k+1) = 2 t T_k - T_(k-1)."""
    size = len(coefficients)
    previous, this = [mpf(0)] * size, [mpf(0)] * size
    previous[0] = this[min(1, size - 1)] = mpf(1)
    result = [coefficients[0] * p for p in previous]
    for c in coefficients[1:]:
        result = [r + c * p for r, p in zip(result, this)]
        shifted = [mpf(0)] + [2 * p for p in this[:-1]]
        previous, this = this, [a - b for a, b in zip(shifted, previous)]
    return result


sqrt, exp, log, pi, euler = mp.sqrt, mp.exp, mp.log, mp.pi, mp.euler

# Modified Bessel functions (Abramowitz and Stegun, 9.6 and 9.7).
for n in (0, 1):
    scale = (lambda x: x) if n else (lambda x: mpf(1))
    series(f'i{n}eNear', 0, 8,
           lambda x: exp(-x) * mp.besseli(n, x) / scale(x))
    series(f'i{n}eFar', 0, 1, lambda z: exp(-8 / z) * sqrt(8 / z) *
           mp.besseli(n, 8 / z))
    series(f'i{n}Small', 0, 4,
           lambda z: mp.besseli(n, sqrt(z)) / scale(sqrt(z)))
    series(f'k{n}Far', 0, 1, lambda z: exp(2 / z) * sqrt(2 / z) *
           mp.besselk(n, 2 / z))
series('k0Near', 0, 4, lambda z: mp.besselk(0, sqrt(z)) +
       log(sqrt(z) / 2) * mp.besseli(0, sqrt(z)))
series('k1Near', 0, 4, lambda z: sqrt(z) * (
    mp.besselk(1, sqrt(z)) - log(sqrt(z) / 2) * mp.besseli(1, sqrt(z))))

# Bessel functions: power series below 5, modulus and phase above (9.2.5).
series('j0Near', 0, 25, lambda z: mp.besselj(0, sqrt(z)))
series('j1Near', 0, 25, lambda z: mp.besselj(1, sqrt(z)) / sqrt(z))
series('y0Near', 0, 25, lambda z: mp.bessely(0, sqrt(z)) -
       2 / pi * log(sqrt(z)) * mp.besselj(0, sqrt(z)))
series('y1Near', 0, 25, lambda z: (
    mp.bessely(1, sqrt(z)) -
    2 / pi * (log(sqrt(z)) * mp.besselj(1, sqrt(z)) - 1 / sqrt(z))) / sqrt(z))
for n in (0, 1):
    def turned(z, which):
        x = 5 / sqrt(z)
        phase = x - (2 * n + 1) * pi / 4
        j, y = mp.besselj(n, x), mp.bessely(n, x)
        root = sqrt(pi * x / 2)
        if which == 'p':
            return root * (j * mp.cos(phase) + y * mp.sin(phase))
        return root * (y * mp.cos(phase) - j * mp.sin(phase)) * x / 5
    series(f'p{n}Far', 0, 1, lambda z: turned(z, 'p'))
    series(f'q{n}Far', 0, 1, lambda z: turned(z, 'q'))


# Dawson's integral (7.1.16).
def dawson(x):
    return sqrt(pi) / 2 * exp(-x * x) * mp.erfi(x)


series('dawson0', 0, 1, lambda z: dawson(sqrt(z)) / sqrt(z))
for i, (low, high) in enumerate(((1, 2), (2, 3.5), (3.5, 6)), 1):
    series(f'dawson{i}', low, high, dawson)
series('dawsonFar', 0, 1,
       lambda z: 12 / sqrt(z) * dawson(6 / sqrt(z)), nodes=72)


# Fresnel integrals (7.3): power series below 1.6, f and g above.
def root4(z):
    return sqrt(sqrt(z))


series('fresnelSNear', 0, mpf('6.5536'),
       lambda z: mp.fresnels(root4(z)) / root4(z) ** 3)
series('fresnelCNear', 0, mpf('6.5536'),
       lambda z: mp.fresnelc(root4(z)) / root4(z))


def auxiliary(z, which):
    x = mpf('1.6') / root4(z)
    s, c = mpf(1) / 2 - mp.fresnels(x), mpf(1) / 2 - mp.fresnelc(x)
    phase = pi * x * x / 2
    if which == 'f':
        return (s * mp.cos(phase) - c * mp.sin(phase)) * pi * x
    return (c * mp.cos(phase) + s * mp.sin(phase)) * pi ** 2 * x ** 3


for part, low, high in ((0, mpf(1) / 8, 1), (1, mpf(1) / 64, mpf(1) / 8),
                        (2, mpf(1) / 1024, mpf(1) / 64),
                        (3, 0, mpf(1) / 1024)):
    series(f'fresnelF{part}', low, high, lambda z: auxiliary(z, 'f'))
    series(f'fresnelG{part}', low, high, lambda z: auxiliary(z, 'g'))

# The exponential integral Ei (5.1.10).
series('expint0', 0, 2, lambda x: (mp.ei(x) - log(x) - euler) / x)
for i, low in enumerate((2, 4, 8, 16, 32), 1):
    series(f'expint{i}', low, 2 * low, lambda x: mp.ei(x) * x * exp(-x))
series('expintFar', 0, 1,
       lambda z: mp.ei(64 / z) * (64 / z) * exp(-64 / z))

# The dilogarithm (27.7): Li2(-w) / w.
series('spence', -0.5, 0.5, lambda w: mp.polylog(2, -w) / w if w else mpf(-1))


# The inverse of the error function over x, by w = -log(1 - x^2) (Giles,
# "Approximating the erfinv function", 2010), and of the normal distribution
# over t, by t = sqrt(-2 log p).
def normalTail(t):
    """u with P(X < -u) = exp(-t^2 / 2)."""
    u = t - log(t * sqrt(2 * pi)) / t if t > 1.5 else t / 2
    return mp.findroot(
        lambda v: log(mp.erfc(v / sqrt(2)) / 2) + t * t / 2, u)


def inverseErf(w):
    x = sqrt(-mp.expm1(-w))
    rest = exp(-w) / (1 + x)
    start = mp.erfinv(x) if w < 20 else sqrt(w)
    return mp.findroot(lambda v: log(mp.erfc(v)) - log(rest), start) / x


series('erfinvNear', 0, 6.25, inverseErf)
series('erfinvMiddle', 2.5, 4, lambda s: inverseErf(s * s))
series('erfinvFar', 4, 6.25, lambda s: inverseErf(s * s))
series('ndtriNear', 0, mpf('0.134'),
       lambda z: sqrt(2) * mp.erfinv(2 * sqrt(z)) / sqrt(z))
series('ndtriMiddle', mpf(1) / 8, mpf('0.51'), lambda z: normalTail(1 / z) * z)
series('ndtriFar', mpf(1) / 40, mpf(1) / 8, lambda z: normalTail(1 / z) * z)

print('''//===- SpecialTables.h - polynomials of special functions -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by special_tables.py, which says what each is.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_SPECIALTABLES_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_SPECIALTABLES_H

#include "llvm/ADT/ArrayRef.h"

namespace weir::special {

/// Sum of c_k t^k, where t runs from -1 to 1 as the variable does from low to
/// high.
struct Series {
  double low, high;
  llvm::ArrayRef<double> coefficients;
};
''')
for name, low, high, coefficients in SERIES:
    print(f'inline constexpr double {name}Terms[] = {{')
    for first in range(0, len(coefficients), 3):
        print('    ' + ', '.join(
            repr(float(c)) for c in coefficients[first:first + 3]) + ',')
    print('};')
    print(f'inline constexpr Series {name} = {{{float(low)!r}, '
          f'{float(high)!r}, {name}Terms}};')
print('''
} // namespace weir::special

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_SPECIALTABLES_H''')

import { anyFunction, finite, type FunctionTable, type SqlFunction } from './sql-function.ts'

/** A function of one number; no result unless it is finite. */
function numberFunction(evaluate: (x: number) => number): SqlFunction {
  return anyFunction([1, 1], ([x]) => (typeof x === 'number' ? finite(evaluate(x)) : undefined))
}

/** A function of two numbers; no result unless it is finite. */
function twoNumbersFunction(evaluate: (x: number, y: number) => number): SqlFunction {
  return anyFunction([2, 2], ([x, y]) =>
    typeof x === 'number' && typeof y === 'number' ? finite(evaluate(x, y)) : undefined,
  )
}

/** Halves go away from zero, as in the service. */
function roundHalfAway(value: number, digits: number): number {
  const factor = 10 ** digits
  const scaled = Math.abs(value) * factor
  return Number.isFinite(scaled) ? (Math.sign(value) * Math.round(scaled)) / factor : value
}

/** Functions of numbers. */
export const MATH_FUNCTIONS: FunctionTable = {
  ABS: numberFunction((x) => Math.abs(x)),
  ACOS: numberFunction((x) => Math.acos(x)),
  ASIN: numberFunction((x) => Math.asin(x)),
  ATAN: numberFunction((x) => Math.atan(x)),
  CEILING: numberFunction((x) => Math.ceil(x)),
  COS: numberFunction((x) => Math.cos(x)),
  COT: numberFunction((x) => 1 / Math.tan(x)),
  DEGREES: numberFunction((x) => (x * 180) / Math.PI),
  EXP: numberFunction((x) => Math.exp(x)),
  FLOOR: numberFunction((x) => Math.floor(x)),
  LOG10: numberFunction((x) => Math.log10(x)),
  RADIANS: numberFunction((x) => (x * Math.PI) / 180),
  SIGN: numberFunction((x) => Math.sign(x)),
  SIN: numberFunction((x) => Math.sin(x)),
  SQRT: numberFunction((x) => Math.sqrt(x)),
  SQUARE: numberFunction((x) => x * x),
  TAN: numberFunction((x) => Math.tan(x)),
  TRUNC: numberFunction((x) => Math.trunc(x)),
  // Of the second number over the first, as the service documents it.
  ATN2: twoNumbersFunction((x, y) => Math.atan2(y, x)),
  POWER: twoNumbersFunction((x, y) => x ** y),
  PI: anyFunction([0, 0], () => Math.PI),
  LOG: anyFunction([1, 2], ([x, base = Math.E]) => {
    if (typeof x !== 'number' || typeof base !== 'number') return undefined
    return finite(base === Math.E ? Math.log(x) : Math.log(x) / Math.log(base))
  }),
  ROUND: anyFunction([1, 2], ([x, digits = 0]) => {
    if (typeof x !== 'number' || !Number.isInteger(digits)) return undefined
    return finite(roundHalfAway(x, Math.min(Math.max(Number(digits), -300), 300)))
  }),
}

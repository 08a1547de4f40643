import { isJsonArray, isJsonObject, type Json } from '../json.ts'
import { isPrimitive } from '../values/compare.ts'
import { anyFunction, type FunctionTable, type SqlFunction } from './sql-function.ts'

/** Never undefined: also an absent property has an answer. */
function typeTest(test: (value: Json) => boolean): SqlFunction {
  return anyFunction([1, 1], ([value]) => test(value))
}

/** Tests of a value's type, and choices between values. */
export const TYPE_FUNCTIONS: FunctionTable = {
  IS_DEFINED: typeTest((value) => value !== undefined),
  IS_NULL: typeTest((value) => value === null),
  IS_BOOL: typeTest((value) => typeof value === 'boolean'),
  IS_NUMBER: typeTest((value) => typeof value === 'number'),
  IS_FINITE_NUMBER: typeTest((value) => typeof value === 'number'),
  IS_INTEGER: typeTest((value) => Number.isInteger(value)),
  IS_STRING: typeTest((value) => typeof value === 'string'),
  IS_ARRAY: typeTest(isJsonArray),
  IS_OBJECT: typeTest(isJsonObject),
  IS_PRIMITIVE: typeTest(isPrimitive),
  IIF: anyFunction([3, 3], ([condition, then, otherwise]) =>
    condition === true ? then : otherwise,
  ),
  CHOOSE: anyFunction([2, Infinity], ([index, ...choices]) =>
    typeof index === 'number' && index >= 1 ? choices[Math.trunc(index) - 1] : undefined,
  ),
}

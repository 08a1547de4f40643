import { NOT_SUPPORTED, refusalOf, type NotSupported } from '../../errors/not-supported.ts'
import { ARRAY_FUNCTIONS } from './array-functions.ts'
import { CONVERSION_FUNCTIONS } from './conversion-functions.ts'
import { DATE_FUNCTIONS } from './date-functions.ts'
import { MATH_FUNCTIONS } from './math-functions.ts'
import type { FunctionTable, SqlFunction } from './sql-function.ts'
import { STRING_FUNCTIONS } from './string-functions.ts'
import { TYPE_FUNCTIONS } from './type-functions.ts'

const FUNCTIONS: FunctionTable = {
  ...TYPE_FUNCTIONS,
  ...ARRAY_FUNCTIONS,
  ...STRING_FUNCTIONS,
  ...CONVERSION_FUNCTIONS,
  ...MATH_FUNCTIONS,
  ...DATE_FUNCTIONS,
}

/** Functions that the service has and this gateway has not, by how their names begin, with the way around. */
const UNSUPPORTED: readonly (readonly [begin: RegExp, refused: NotSupported])[] = [
  [/^ST_/, NOT_SUPPORTED.spatial],
  [/^(FULLTEXT|RRF$)/, NOT_SUPPORTED.fullTextSearch],
  [/^VECTORDISTANCE$/, NOT_SUPPORTED.vectorSearch],
  // A backtracking expression over documents could keep the process busy for ever.
  [/^REGEXMATCH$/, NOT_SUPPORTED.regularExpressions],
]

/** Others, for which there is no one way around. */
const MISSING: readonly (readonly [begin: RegExp, kind: string])[] = [
  [/^(INT[A-Z]+|NUMBERBIN|DATETIMEBIN|RAND|DOCUMENTID|ARRAY_AGG|COUNTIF)$/, 'function'],
  [/^(ALL|FIRST|LAST)$/, 'subquery expression'],
  [
    /^(ARRAY_(MAX|MIN|SUM|AVG|MEDIAN)|SETDIFFERENCE|SETEQUAL|AGO|NOW|DATETIMEFORMAT|LASTINDEXOF|CONTAINS_(ALL|ANY)_C[IS])$/,
    'function',
  ],
]

/** The function of that name, whatever its case. */
export function findFunction(name: string): SqlFunction | undefined {
  const upper = name.toUpperCase()
  return Object.hasOwn(FUNCTIONS, upper) ? FUNCTIONS[upper] : undefined
}

/** Why a function of the service is not to be had here, with its name; undefined = the service has none of that name. */
export function unsupportedFunction(name: string): string | undefined {
  const upper = name.toUpperCase()
  const refused = UNSUPPORTED.find(([begin]) => begin.test(upper))?.[1]
  if (refused !== undefined) return `${refusalOf(refused)}; ${name} stands`
  const kind = MISSING.find(([begin]) => begin.test(upper))?.[1]
  return kind && `the ${kind} ${name} is not supported,`
}

/** The names of all supported system functions, in upper case: for the documentation. */
export function supportedFunctions(): string[] {
  return Object.keys(FUNCTIONS).sort()
}

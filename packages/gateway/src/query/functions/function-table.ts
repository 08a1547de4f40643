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

/** Functions that the service has and this gateway has not, by how their names begin. */
const UNSUPPORTED: readonly (readonly [begin: RegExp, kind: string])[] = [
  [/^ST_/, 'spatial function'],
  [/^(FULLTEXT|RRF$)/, 'full-text search function'],
  [/^VECTORDISTANCE$/, 'vector search function'],
  // A backtracking expression over documents could keep the process busy for ever.
  [/^REGEXMATCH$/, 'regular expression function (use LIKE, CONTAINS or STARTSWITH)'],
  [
    /^(INT[A-Z]+|NUMBERBIN|DATETIMEBIN|RAND|DOCUMENTID|FULLTEXTSCORE|ARRAY_AGG|COUNTIF)$/,
    'function',
  ],
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

/** What kind of function of the service a name is that is not supported here; undefined = none. */
export function unsupportedFunctionKind(name: string): string | undefined {
  return UNSUPPORTED.find(([begin]) => begin.test(name.toUpperCase()))?.[1]
}

/** The names of all supported system functions, in upper case: for the documentation. */
export function supportedFunctions(): string[] {
  return Object.keys(FUNCTIONS).sort()
}

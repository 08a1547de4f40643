/** Characters of a query text (the service's limit is 512 KB). */
export const MAX_QUERY_CHARS: number = 512 * 1024
/** Brackets, operators and subqueries inside one another: far below what the stack can take. */
export const MAX_NESTING = 64
/** Names and parameters of one query are few; more is a mistake or an attack. */
export const MAX_ITEMS = 10_000
/** Rows of one page, and of what ORDER BY, DISTINCT and GROUP BY keep in memory. */
export const MAX_PAGE_ROWS = 10_000
/** Characters, roughly, of the rows of one page: the service's pages end at 4 MB as well. */
export const MAX_PAGE_CHARS: number = 4 * 1024 * 1024
/** Characters of one row or of one string that a function makes: twice a document's limit. */
export const MAX_VALUE_CHARS: number = 4 * 1024 * 1024
/** Sources of FROM and JOIN, each of which multiplies rows, and expressions of ORDER BY. */
export const MAX_SOURCES = 100
/** Depth to which values are compared, hashed and measured. */
export const MAX_VALUE_DEPTH = 1_000
/** Characters of a LIKE pattern, which is tried at every place of a text. */
export const MAX_PATTERN_CHARS = 1_000

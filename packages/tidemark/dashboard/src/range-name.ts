const LENGTH = 8

/** A lease token or its ends, short: `05C1C9D2–1FFFFFFF`. The whole belongs into a title. */
export function rangeName(from: string | null, to: string | null): string {
  return `${end(from, 'first')}–${end(to, 'last')}`
}

/** Of a lease token `min-max`. */
export function tokenName(token: string): string {
  const [from = '', to = ''] = token.split('-', 2)
  return rangeName(from, to)
}

function end(value: string | null, outermost: string): string {
  if (value === null) return '?'
  if (value === '' || value === 'FF') return outermost
  return value.length > LENGTH ? value.slice(0, LENGTH) : value
}

/** Digits of a lock: 80 random bits. */
export const LOCK_DIGITS = 20

const TOKEN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * A GUID, made of the message's id (48 bits) and its lock (80 random bits): so a token finds its message without an index
 * of tokens, and nobody can guess one.
 */
export function lockToken(id: number, lock: string): string {
  const digits = id.toString(16).padStart(12, '0') + lock
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    digits.slice(12, 16),
    digits.slice(16, 20),
    digits.slice(20),
  ].join('-')
}

/** Undefined for what is no token. */
export function parseLockToken(
  token: unknown,
): { readonly id: number; readonly lock: string } | undefined {
  if (typeof token !== 'string' || !TOKEN.test(token)) return undefined
  const digits = token.replaceAll('-', '').toLowerCase()
  return { id: Number.parseInt(digits.slice(0, 12), 16), lock: digits.slice(12) }
}

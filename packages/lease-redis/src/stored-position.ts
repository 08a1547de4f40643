import type { Checkpoint, Continuation } from '@tidemark/contracts'

/** Not printable: the form of an older release, only a continuation, does not begin with it. */
const MARK = '\u0001'

/**
 * A checkpoint without its LSN as one text, which the scripts do not interpret: the continuation, preceded by the
 * attempts between two marks. A continuation that begins with the mark itself has two of them before it.
 */
export function positionText({ continuation, attempts }: Checkpoint): string {
  if (attempts !== undefined) {
    const { count, size, first } = attempts
    // Encoded, so that it contains no mark.
    const which = first === undefined ? '' : `,${encodeURIComponent(first)}`
    return `${MARK}${count},${size}${which}${MARK}${continuation}`
  }
  return continuation.startsWith(MARK) ? `${MARK}${MARK}${continuation}` : continuation
}

/** Parses a text of `positionText`. */
export function parsePosition(text: string): Omit<Checkpoint, 'lsn'> {
  const end = text.startsWith(MARK) ? text.indexOf(MARK, 1) : -1
  // The text that a host gave as a continuation.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- branded by whoever made it
  const continuation = (end < 0 ? text : text.slice(end + 1)) as Continuation
  const known = /^(\d+),(\d+)(?:,([\w%.~!*'()-]*))?$/.exec(end < 0 ? '' : text.slice(1, end))
  const [, count, size, which] = known ?? []
  if (count === undefined || size === undefined) return { continuation }
  const first = which === undefined ? {} : { first: decodeURIComponent(which) }
  return { continuation, attempts: { count: Number(count), size: Number(size), ...first } }
}

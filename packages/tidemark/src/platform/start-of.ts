import type { StartPosition } from '@tidemark/contracts'

/** A position in a feed as people write it: beginning, now, a time or a continuation. Undefined: it is none of them. */
export function startOf(text: string): StartPosition | undefined {
  if (text === 'beginning' || text === 'now') return text
  if (/^tm\d/.test(text)) return { continuation: text }
  const time = new Date(text)
  return Number.isNaN(time.getTime()) ? undefined : time
}

/** Undefined: there is no such time. */
export function dateOf(ms: number): Date | undefined {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? undefined : date
}

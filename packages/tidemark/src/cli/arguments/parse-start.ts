import { InvalidArgumentError } from 'commander'
import type { StartPosition } from '@tidemark/contracts'

/** Parses a position in a feed for commander: beginning, now, a time or a continuation. */
export function startPosition(text: string): StartPosition {
  if (text === 'beginning' || text === 'now') return text
  if (/^tm\d/.test(text)) return { continuation: text }
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) {
    throw new InvalidArgumentError(
      'It must be beginning, now, a time such as 2026-01-31T09:00:00Z, or a continuation.',
    )
  }
  return time
}

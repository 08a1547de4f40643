import { InvalidArgumentError } from 'commander'
import type { StartPosition } from '@tidemark/contracts'
import { startOf } from '../../platform/start-of.ts'

/** Parses a position in a feed for commander: beginning, now, a time or a continuation. */
export function startPosition(text: string): StartPosition {
  const start = startOf(text)
  if (start !== undefined) return start
  throw new InvalidArgumentError(
    'It must be beginning, now, a time such as 2026-01-31T09:00:00Z, or a continuation.',
  )
}

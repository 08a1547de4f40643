import { BadRequestError } from '@tidemark/contracts'
import { HEADER } from './header-names.ts'

const LEVELS = ['Strong', 'BoundedStaleness', 'Session', 'ConsistentPrefix', 'Eventual']

/**
 * Every level is served in the same way; anything else is a client's mistake.
 *
 * @throws ERR_BAD_REQUEST
 */
export function checkConsistencyLevel(header: string | undefined): void {
  if (header === undefined) return
  const wanted = header.toLowerCase()
  if (LEVELS.some((level) => level.toLowerCase() === wanted)) return
  throw new BadRequestError(
    `header ${HEADER.consistencyLevel} must be one of ${LEVELS.join(', ')}, got ${JSON.stringify(header)}`,
  )
}

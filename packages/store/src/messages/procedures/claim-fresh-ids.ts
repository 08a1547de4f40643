import type { EntityRecord } from '../entities.ts'
import { ask, type Procedure } from '../message-rows.ts'
import type { Work } from './work.ts'

/**
 * Duplicate detection of an entity (SET-10), asked for while its counter is held. The answer, asked for each message in the
 * order of `ids`, is true for the first message with an id that was not seen within the window.
 */
export function* claimFreshIds(
  work: Work,
  { number, settings }: EntityRecord,
  ids: readonly string[],
): Procedure<(id: string) => boolean> {
  const { duplicateWindowMs } = settings
  if (duplicateWindowMs === undefined || ids.length === 0) return () => true
  const { storeMs } = work.time
  const claimed = yield* ask('claimIds', {
    entity: number,
    ids,
    untilMs: storeMs + duplicateWindowMs,
    storeMs,
  })
  const fresh = new Set(claimed)
  return (id) => fresh.delete(id)
}

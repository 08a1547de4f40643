import { InvalidOptionError, type RequestOptions } from '@tidemark/contracts'
import type { ExpiryView } from '../engine/maintenance.ts'
import type { FoundRecord } from './change-settings.ts'

export interface ReadExpiryOptions extends RequestOptions {
  /**
   * Bounds in seconds from now, ascending. The answer counts what expires within each.
   * @range 1 or more, rising; at most 100 of them @default a minute, an hour, a day, a week
   */
  readonly withinSeconds?: readonly number[] | undefined
}

const DEFAULT_BOUNDS: readonly number[] = [60, 3600, 86_400, 7 * 86_400]
/** Each bound is a count over an index. */
const MAX_BOUNDS = 100

/** @throws ERR_INVALID_OPTION, ERR_NOT_FOUND */
export async function readCollectionExpiry(
  { engine, record }: FoundRecord,
  { withinSeconds = DEFAULT_BOUNDS }: ReadExpiryOptions,
): Promise<ExpiryView> {
  const isRising = withinSeconds.every(
    (bound, index) => Number.isSafeInteger(bound) && bound > (withinSeconds[index - 1] ?? 0),
  )
  if (!isRising || withinSeconds.length > MAX_BOUNDS) {
    throw new InvalidOptionError(
      `withinSeconds must be at most ${MAX_BOUNDS} whole numbers above 0 that rise, ` +
        `got ${JSON.stringify(withinSeconds)}`,
    )
  }
  return engine.readExpiry(record, { withinSeconds })
}

import {
  type Change,
  type DeadLetter,
  type DocumentBody,
  type FeedRange,
} from '@tidemark/contracts'
import { changeKeyText, murmur3x64 } from '@tidemark/contracts/internal'
import { recordedError } from './recorded-error.ts'

/** A change that could not be processed, and how that was found. */
export interface FailedChange<T extends DocumentBody> {
  readonly group: string
  /** `ChangeFeedSource.identity`. */
  readonly feed: string
  /** Of the lease under which it was found. */
  readonly range: FeedRange
  readonly change: Change<T>
  /** What the observer threw: any value. */
  readonly error: unknown
  /** Tries of this change alone. */
  readonly attempts: number
  readonly hostName: string
  /** Epoch ms, by the host's clock. */
  readonly failedAtMs: number
}

/** The letter that is put away for a change. */
export function deadLetterOf<T extends DocumentBody>(failed: FailedChange<T>): DeadLetter<T> {
  const { group, feed, range, change, attempts, hostName, failedAtMs } = failed
  return {
    id: deadLetterId({ group, feed, change }),
    group,
    feed,
    range: { minInclusive: range.minInclusive, maxExclusive: range.maxExclusive },
    lsn: change.lsn,
    change,
    error: recordedError(failed.error),
    attempts,
    hostName,
    failedAtMs,
  }
}

/** The widest LSN, so that ids sort by it. */
const LSN_DIGITS = 16

/**
 * The same for the same change of the same group: `<lsn>-<hash>`, in the order of LSNs as text. The hash
 * tells apart the changes of one transaction, and those of different ranges, feeds and groups.
 */
export function deadLetterId({
  group,
  feed,
  change,
}: Pick<FailedChange<DocumentBody>, 'group' | 'feed' | 'change'>): string {
  const { kind, id, lsn } = change
  const key = changeKeyText(change)
  const text = JSON.stringify([group, feed, lsn, key, id, kind, ...versionMarks(change)])
  const hash = Array.from(murmur3x64(new TextEncoder().encode(text)), (word) =>
    word.toString(16).padStart(8, '0'),
  )
  return `${String(lsn).padStart(LSN_DIGITS, '0')}-${hash.join('')}`
}

/** The LSN in an id that `deadLetterId` made; NaN of any other text. */
export function lsnOfDeadLetterId(id: string): number {
  const [digits, hash] = id.split('-', 2)
  return hash !== undefined && digits?.length === LSN_DIGITS ? Number(digits) : Number.NaN
}

/** One transaction may write several versions of one document. */
function versionMarks(change: Change): readonly unknown[] {
  if (change.kind !== 'version') return []
  const { operationType } = change
  try {
    return [operationType, change.current?._etag, change.previous?._etag]
  } catch {
    // An image is damaged: the feed is about to say so.
    return [operationType]
  }
}

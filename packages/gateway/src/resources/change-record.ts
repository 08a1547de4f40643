import { PreconditionFailedError, errorCode } from '@tidemark/contracts'
import { WriteConflictError } from '@tidemark/store'

interface NamedRecord {
  readonly id: string
  readonly etag: string
}

/** Each lost race means that somebody else changed the record. */
const MAX_ATTEMPTS = 100

/**
 * Reads a record, computes from it and writes, so that of two who do this at once neither undoes what the other did.
 * `write` must be refused (ERR_PRECONDITION_FAILED) when the record has no longer the etag that was read.
 *
 * Rejects with ERR_PRECONDITION_FAILED when `ifMatch` is not the present etag, ERR_WRITE_CONFLICT.
 */
export async function changeRecord<Found extends NamedRecord>({
  ifMatch,
  read,
  write,
}: {
  /** `If-Match` of the request. */
  readonly ifMatch: string | undefined
  readonly read: () => Promise<Found>
  readonly write: (before: Found) => Promise<Found>
}): Promise<Found> {
  for (let attempt = 1; ; attempt++) {
    const before = await read()
    assertMatch(before, ifMatch)
    try {
      return await write(before)
    } catch (error) {
      if (errorCode(error) !== 'ERR_PRECONDITION_FAILED') throw error
      if (attempt >= MAX_ATTEMPTS) throw new WriteConflictError(before.id, MAX_ATTEMPTS)
    }
  }
}

/** @throws ERR_PRECONDITION_FAILED */
export function assertMatch({ id, etag }: NamedRecord, ifMatch: string | undefined): void {
  if (ifMatch === undefined || ifMatch === '*' || ifMatch === etag) return
  throw new PreconditionFailedError(id, `its etag is ${etag}, not ${ifMatch}`)
}

import {
  LeaseStorageError,
  parseFeedRangeId,
  type FeedMode,
  type FeedRange,
} from '@tidemark/contracts'
import {
  modeOf,
  parseV3Continuation,
  property,
  v3Range,
  type V3Continuation,
} from './v3-continuation.ts'

/** A lease of the change feed processor of the .NET SDK (V3) or the Java SDK (V4), as its document says. */
export interface V3Lease {
  readonly id: string
  /** Id of a pkrange, or `min-max`. */
  readonly token: string
  /** Its keys, if the document says them. Leases of pkranges need not. */
  readonly range: FeedRange | undefined
  readonly owner: string | undefined
  /** Epoch ms of its last write, by the clock of the server. */
  readonly writtenMs: number
  readonly mode: FeedMode
  readonly continuation: V3Continuation
  readonly etag: string
  /** Value of `/partitionKey` where the container is partitioned by it. */
  readonly partitionKey: string | undefined
}

/**
 * Reads the document of a lease, in any form that the two SDKs write: of a pkrange (version 0, or none), of an interval of keys
 * (version 1), and what V2 of .NET left, whose `PartitionId` is the pkrange.
 *
 * Source: `DocumentServiceLeaseCore`, `DocumentServiceLeaseCoreEpk` and `DocumentServiceLeaseConverter` of
 * azure-cosmos-dotnet-v3; `Lease`, `ServiceItemLease` and `ServiceItemLeaseV1` of azure-cosmos for Java.
 *
 * @throws ERR_LEASE_STORAGE when it is none, or one of Tidemark's
 */
export function parseV3Lease(document: unknown): V3Lease {
  const id = property(document, 'id')
  if (typeof id !== 'string') throw new LeaseStorageError('a lease document has no id')
  if (property(document, 'recordVersion') !== undefined) {
    throw new LeaseStorageError(
      `document ${JSON.stringify(id)} is a lease of a Tidemark group that has this processor's prefix: V3 and Tidemark ` +
        'processors need separate lease containers, or separate names',
    )
  }
  const token = property(document, 'LeaseToken') ?? property(document, 'PartitionId')
  if (typeof token !== 'string' || token === '') throw notALease(id, 'it has no LeaseToken')
  const range =
    v3Range(property(property(document, 'FeedRange'), 'Range')) ?? parseFeedRangeId(token)
  if (range === undefined && !/^\d+$/.test(token)) {
    throw notALease(id, `its LeaseToken ${JSON.stringify(token)} is neither a pkrange nor a range`)
  }
  const owner = property(document, 'Owner')
  const seconds = property(document, '_ts')
  const etag = property(document, '_etag')
  if (typeof seconds !== 'number' || typeof etag !== 'string') {
    throw notALease(id, 'it has no _ts and _etag')
  }
  const continuation = continuationOf(id, property(document, 'ContinuationToken'))
  const mode = property(document, 'Mode')
  const partitionKey = property(document, 'partitionKey')
  return {
    id,
    token,
    range,
    owner: typeof owner === 'string' && owner !== '' ? owner : undefined,
    writtenMs: seconds * 1000,
    mode: continuation.mode ?? modeOf(typeof mode === 'string' ? mode : ''),
    continuation,
    etag,
    partitionKey: typeof partitionKey === 'string' ? partitionKey : undefined,
  }
}

function continuationOf(id: string, token: unknown): V3Continuation {
  try {
    return parseV3Continuation(token)
  } catch (cause) {
    throw new LeaseStorageError(`document ${JSON.stringify(id)} has no known position`, { cause })
  }
}

function notALease(id: string, why: string): LeaseStorageError {
  return new LeaseStorageError(
    `document ${JSON.stringify(id)} is not a lease of a .NET or Java processor: ${why}`,
  )
}

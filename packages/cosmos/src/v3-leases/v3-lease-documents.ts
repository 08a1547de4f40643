import { feedRangeId, type FeedMode, type FeedRange, type Lsn } from '@tidemark/contracts'
import { etagOf, javaContinuation } from './v3-continuation.ts'
import type { V3Reader } from './v3-prefix.ts'

/** Keys of one pkrange for which there is to be a lease, and where they continue. */
export interface LeaseKeys {
  readonly range: FeedRange
  readonly lsn: Lsn
  /** Of the pkrange that has them. */
  readonly pkRangeId: string
}

/** A lease as a V3 processor would have created and released it. */
export interface V3LeaseDocument {
  readonly id: string
  readonly LeaseToken: string
  /** Null: nothing is processed, and the processor starts where its start options say. */
  readonly ContinuationToken: string | null
  readonly Owner: null
  readonly [name: string]: unknown
}

/**
 * The lease that makes a V3 processor continue there. It has no etag of the beginning.
 *
 * Source: `DocumentServiceLeaseCoreEpk` and `DocumentServiceLeaseManagerCosmos` of azure-cosmos-dotnet-v3; `ServiceItemLease`,
 * `ServiceItemLeaseV1` and their `LeaseStoreManagerImpl` of azure-cosmos for Java.
 */
export function v3LeaseDocument(
  { range, lsn, pkRangeId }: LeaseKeys,
  {
    reader,
    prefix,
    containerRid,
    mode,
  }: {
    readonly reader: V3Reader
    readonly prefix: string
    readonly containerRid: string
    readonly mode: FeedMode
  },
): V3LeaseDocument {
  const { minInclusive: min, maxExclusive: max } = range
  const LeaseToken = reader === 'javaHandleChanges' ? pkRangeId : feedRangeId(range)
  const continuation =
    reader === 'java' ? javaContinuation({ containerRid, range, lsn, mode }) : etagOf(lsn)
  const common = {
    id: `${prefix}..${LeaseToken}`,
    LeaseToken,
    ContinuationToken: lsn === 0 ? null : continuation,
    Owner: null,
  }
  switch (reader) {
    case 'dotnet':
      return {
        ...common,
        version: 1,
        FeedRange: { Range: { min, max } },
        properties: {},
        Mode: DOTNET_MODES[mode],
      }
    case 'java': {
      const Range = { min, max, isMinInclusive: true, isMaxInclusive: false }
      return { ...common, version: 1, feedRange: { Range } }
    }
    case 'javaHandleChanges':
      return common
  }
}

const DOTNET_MODES: Readonly<Record<FeedMode, string>> = {
  latestVersion: 'Incremental Feed',
  allVersions: 'Full-Fidelity Feed',
}

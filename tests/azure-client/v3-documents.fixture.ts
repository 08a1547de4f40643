import type { Container } from '@azure/cosmos'

/*
 * Lease documents as the two SDKs write them. source: DocumentServiceLeaseCore, DocumentServiceLeaseCoreEpk and
 * DocumentServiceLeaseStoreCosmos of azure-cosmos-dotnet-v3 (Newtonsoft.Json, nulls included but where ignored);
 * ServiceItemLease, ServiceItemLeaseV1, LeaseStoreImpl and ChangeFeedStateV1 of azure-cosmos for Java.
 */

interface LeaseFacts {
  readonly prefix: string
  /** Etag of the last page, as the server gave it. */
  readonly etag: string | null
  readonly owner?: string | null
}

interface Interval {
  readonly min: string
  readonly max: string
}

/** .NET: of a pkrange. Those of old releases have no `FeedRange`. */
export function dotnetPkRangeLease(
  { prefix, etag, owner = null }: LeaseFacts,
  { id, range }: { readonly id: string; readonly range?: Interval },
): { readonly id: string } {
  const document = {
    id: `${prefix}..${id}`,
    version: 0,
    _etag: null,
    LeaseToken: id,
    ...(range && { FeedRange: { Range: range } }),
    Owner: owner,
    ContinuationToken: etag,
    properties: {},
    timestamp: '2026-07-01T10:00:00.1234567Z',
    _ts: 0,
    Mode: 'Incremental Feed',
  }
  return document
}

/** .NET, taken over from V2. */
export function dotnetV2Lease(
  { prefix, etag, owner = null }: LeaseFacts,
  id: string,
): { readonly id: string } {
  const document = {
    id: `${prefix}..${id}`,
    _etag: null,
    PartitionId: id,
    Owner: owner,
    ContinuationToken: etag,
    properties: {},
    timestamp: null,
    _ts: 0,
  }
  return document
}

/** .NET: of an interval of keys, as after a merge. */
export function dotnetIntervalLease(
  { prefix, etag, owner = null }: LeaseFacts,
  range: Interval,
): { readonly id: string } {
  const document = {
    id: `${prefix}..${range.min}-${range.max}`,
    version: 1,
    _etag: null,
    LeaseToken: `${range.min}-${range.max}`,
    FeedRange: { Range: range },
    Owner: owner,
    ContinuationToken: etag,
    properties: {},
    Mode: 'Incremental Feed',
    timestamp: null,
    _ts: 0,
  }
  return document
}

/** Java: `handleChanges`. */
export function javaPkRangeLease(
  { prefix, etag, owner = null }: LeaseFacts,
  id: string,
): { readonly id: string } {
  const document = {
    id: `${prefix}..${id}`,
    _etag: null,
    LeaseToken: id,
    ContinuationToken: etag,
    timestamp: '2026-07-01T10:00:00.123456Z[UTC]',
    Owner: owner,
  }
  return document
}

/** Java: `handleLatestVersionChanges`. */
export function javaIntervalLease(
  { prefix, etag, owner = null }: LeaseFacts,
  range: Interval,
  state: {
    readonly rid: string
    readonly parts?: readonly (Interval & { readonly etag: string })[]
  },
): { readonly id: string } {
  const document = {
    id: `${prefix}..${range.min}-${range.max}`,
    _etag: null,
    LeaseToken: `${range.min}-${range.max}`,
    ContinuationToken: etag === null ? null : javaState(range, { ...state, etag }),
    timestamp: '2026-07-01T10:00:00.123456Z',
    Owner: owner,
    version: 1,
    feedRange: { Range: { ...range, isMinInclusive: true, isMaxInclusive: false } },
  }
  return document
}

function javaState(
  range: Interval,
  {
    rid,
    etag,
    parts = [{ ...range, etag }],
  }: {
    readonly rid: string
    readonly etag: string
    readonly parts?: readonly (Interval & { readonly etag: string })[] | undefined
  },
): string {
  const state = {
    V: 1,
    Rid: rid,
    Mode: 'INCREMENTAL',
    StartFrom: { Type: 'BEGINNING' },
    Continuation: {
      V: 1,
      Rid: rid,
      Continuation: parts.map(({ etag: token, min, max }) => ({ token, range: { min, max } })),
      Range: range,
    },
  }
  return Buffer.from(JSON.stringify(state)).toString('base64url')
}

/** With what both SDKs have beside their leases. */
export async function writeLeases(
  leases: Container,
  prefix: string,
  documents: readonly { readonly id: string }[],
): Promise<void> {
  // Where the container is partitioned by /partitionKey, these two have their ids there (`MarkInitializedAsync` of
  // DocumentServiceLeaseStoreCosmos), and leases a random one.
  for (const mark of [{ id: `${prefix}.info` }, { id: `${prefix}.lock`, ttl: 30 }]) {
    await leases.items.create({ ...mark, partitionKey: mark.id })
  }
  for (const document of documents) {
    await leases.items.create({ ...document, partitionKey: `guid of ${document.id}` })
  }
}

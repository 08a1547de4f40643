import {
  InvalidOptionError,
  PreconditionFailedError,
  ResourceExistsError,
  ResourceNotFoundError,
  type EtagConditions,
  type CodedError,
} from '@tidemark/contracts'
import { documentEtag, etagLsn } from '@tidemark/contracts/internal'
import type { CollectionRecord } from '../engine/catalog.ts'
import type { WriteCondition } from '../engine/commit.ts'

/** What an operation does, for its preconditions. */
export type ConditionedKind = 'create' | 'upsert' | 'replace' | 'patch' | 'delete' | 'read'

/** An etag that no version has: of another collection, or not an etag of this store. */
const NO_LSN = -1

/**
 * The one condition that the engine judges for an operation. Undefined when one is not enough (such as "present, but
 * not this version"): then the caller reads the present version first.
 */
export function engineCondition(
  kind: ConditionedKind,
  { ifMatch, ifNoneMatch }: EtagConditions,
  collection: number,
): WriteCondition | undefined {
  checkConditions(kind, { ifMatch, ifNoneMatch })
  const mustExist = kind === 'replace' || kind === 'delete'
  if (kind === 'create') return { kind: 'absent' }
  if (ifMatch !== undefined) {
    if (ifNoneMatch !== undefined) return undefined
    return ifMatch === '*' ? { kind: 'present' } : lsnCondition(ifMatch, collection)
  }
  if (ifNoneMatch === undefined) return { kind: mustExist ? 'present' : 'none' }
  if (mustExist) return undefined
  if (ifNoneMatch === '*') return { kind: 'absent' }
  const lsn = etagLsn(collection, ifNoneMatch)
  return lsn === undefined ? { kind: 'none' } : { kind: 'notLsn', lsn }
}

/**
 * Why an operation cannot be applied to the present version; undefined when it can.
 *
 * `presentEtag` is undefined when there is no live document. It is an empty text when the same batch wrote the
 * document: its etag is not available yet, so only `*` matches.
 */
export function conditionFailure(
  kind: ConditionedKind,
  id: string,
  { ifMatch, ifNoneMatch }: EtagConditions,
  presentEtag: string | undefined,
): CodedError | undefined {
  checkConditions(kind, { ifMatch, ifNoneMatch })
  if (presentEtag === undefined) {
    if (kind !== 'create' && kind !== 'upsert') return new ResourceNotFoundError('document', id)
    return ifMatch === undefined ? undefined : new PreconditionFailedError(id, 'it does not exist')
  }
  if (kind === 'create') return new ResourceExistsError('document', id)
  if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== presentEtag) {
    return new PreconditionFailedError(id, `its etag is ${presentEtag}, not ${ifMatch}`)
  }
  // A read with a matching etag is "not modified", which its caller handles.
  if (kind === 'read' || ifNoneMatch === undefined) return undefined
  if (ifNoneMatch === '*') return new PreconditionFailedError(id, 'it exists')
  if (ifNoneMatch === presentEtag) {
    return new PreconditionFailedError(id, `its etag is ${presentEtag} still`)
  }
  return undefined
}

/** The error for an operation whose condition the engine refused. */
export function refusal(
  kind: ConditionedKind,
  id: string,
  { number }: Pick<CollectionRecord, 'number'>,
  presentLsn: number | undefined,
): CodedError {
  if (kind === 'create') return new ResourceExistsError('document', id)
  if (presentLsn === undefined) {
    return kind === 'upsert'
      ? new PreconditionFailedError(id, 'it does not exist')
      : new ResourceNotFoundError('document', id)
  }
  return new PreconditionFailedError(id, `its etag is ${documentEtag(number, presentLsn)}`)
}

function lsnCondition(etag: string, collection: number): WriteCondition {
  return { kind: 'lsn', lsn: etagLsn(collection, etag) ?? NO_LSN }
}

function checkConditions(kind: ConditionedKind, { ifMatch, ifNoneMatch }: EtagConditions): void {
  if (kind === 'create' && ifMatch !== undefined) {
    throw new InvalidOptionError('ifMatch has no meaning for a create: the document must not exist')
  }
  for (const [name, value] of Object.entries({ ifMatch, ifNoneMatch })) {
    if (value !== undefined && typeof value !== 'string') {
      throw new InvalidOptionError(`${name} must be an etag or "*", got ${typeof value}`)
    }
  }
}

import { isValidTtl, type Version } from './model-records.ts'
import type { BatchStep, DocumentStep, Match, PatchChange } from './program.ts'

/** What is there when an operation is judged: undefined = nothing. */
export interface Present {
  readonly ttl: unknown
  /** False when the same transaction wrote it: its etag is not known yet. */
  readonly hasKnownEtag: boolean
}

export type WriteKind = 'create' | 'upsert' | 'replace' | 'patch' | 'delete' | 'read'

/** What an operation must come to. */
export interface Judgement {
  /** Why it cannot be done on what is there. */
  readonly refusal: string | undefined
  /** It writes a `ttl` that is none while the collection has TTL on (TTL-9). */
  readonly hasInvalidTtl: boolean
  /** What is there afterwards. */
  readonly after: { readonly ttl: unknown } | undefined
}

/** Says what one operation does to one document (ST-3). */
export function judgeWrite(
  operation: { readonly do: WriteKind } & Partial<Pick<DocumentStep, 'ttl' | 'ifMatch'>> & {
      readonly change?: PatchChange
    },
  present: Present | undefined,
  hasTtlOn: boolean,
): Judgement {
  const refusal = refusalOf(operation, present)
  if (refusal !== undefined) return { refusal, hasInvalidTtl: false, after: present }
  if (operation.do === 'delete') return judged(undefined)
  if (operation.do === 'read') return judged(present)
  const ttl = operation.do === 'patch' ? patchedTtl(operation.change, present) : operation.ttl
  return { ...judged({ ttl }), hasInvalidTtl: hasTtlOn && ttl !== undefined && !isValidTtl(ttl) }
}

function judged(after: Judgement['after']): Judgement {
  return { refusal: undefined, hasInvalidTtl: false, after }
}

function refusalOf(
  operation: { readonly do: WriteKind; readonly ifMatch?: Match; readonly change?: PatchChange },
  present: Present | undefined,
): string | undefined {
  const { do: kind, ifMatch, change } = operation
  if (present === undefined) {
    if (kind === 'create') return undefined
    if (kind !== 'upsert') return 'ERR_NOT_FOUND'
    return ifMatch === undefined ? undefined : 'ERR_PRECONDITION_FAILED'
  }
  if (kind === 'create') return 'ERR_EXISTS'
  if (ifMatch === 'stale' || (ifMatch === 'current' && !present.hasKnownEtag)) {
    return 'ERR_PRECONDITION_FAILED'
  }
  const removesNothing =
    change !== undefined && 'do' in change && change.do === 'removeTtl' && present.ttl === undefined
  return removesNothing ? 'ERR_INVALID_PATCH' : undefined
}

function patchedTtl(change: PatchChange | undefined, present: Present | undefined): unknown {
  if (change === undefined) return present?.ttl
  if ('setTtl' in change) return change.setTtl
  return change.do === 'removeTtl' ? undefined : present?.ttl
}

export function presentOf(version: Version | undefined): Present | undefined {
  return version && { ttl: version.ttl, hasKnownEtag: true }
}

/** What a batch must come to. */
export interface BatchJudgement {
  /** Operations of which any may be named as the one that failed, with the code; empty = it is done. */
  readonly failures: Map<number, string>
  /** Of each id that is touched, what is there afterwards. */
  readonly after: ReadonlyMap<
    string,
    { readonly ttl: unknown; readonly writer: number } | undefined
  >
}

/** Says what a transactional batch does: each operation sees the effects of those before it (ST-4). */
export function judgeBatch(
  operations: readonly BatchStep[],
  presentOfId: (id: string) => Present | undefined,
  hasTtlOn: boolean,
): BatchJudgement {
  const failures = new Map<number, string>()
  const overlay = new Map<string, Present | undefined>()
  const after = new Map<string, { ttl: unknown; writer: number } | undefined>()
  for (const [index, operation] of operations.entries()) {
    const { id } = operation
    const present = overlay.has(id) ? overlay.get(id) : presentOfId(id)
    const judgement = judgeWrite(operation, present, hasTtlOn)
    if (judgement.refusal !== undefined) {
      failures.set(index, judgement.refusal)
      break
    }
    if (judgement.hasInvalidTtl) failures.set(index, 'ERR_INVALID_DOCUMENT')
    if (operation.do === 'read') continue
    overlay.set(id, judgement.after && { ...judgement.after, hasKnownEtag: false })
    after.set(id, judgement.after && { ttl: judgement.after.ttl, writer: index })
  }
  return { failures, after }
}

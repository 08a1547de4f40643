import { AtomicWriteFailedError, type AtomicWrite } from '@tidemark/store'
import {
  BatchFailedError,
  type BatchOperation,
  type DeleteResult,
  type EtagConditions,
  type PatchOperation,
  type WriteResult,
} from '@tidemark/contracts'
import { expectDocument } from './check-page.ts'
import { expectSame, expectThat } from './difference.ts'
import type { ModelDocument } from './environment.ts'
import { judgeBatch, judgeWrite, presentOf, type WriteKind } from './judge-write.ts'
import { epkOf } from './model.ts'
import { isValidTtl, keyOf } from './model-records.ts'
import type { AtomicStep, BatchStep, DocumentStep, Match, PatchChange, Step } from './program.ts'
import { outcomeCode, outcomeOf, type Outcome, type Session } from './session.ts'

type SingleStep = DocumentStep & {
  readonly do: Exclude<WriteKind, 'read'>
  readonly change?: PatchChange
}

/** An etag of ours that no version ever has. */
const STALE_ETAG = '"00000001-00000000000000"'

/** Creates, upserts, replaces, patches or deletes one document, in the store and in the model. */
export async function performSingle(session: Session, step: SingleStep): Promise<void> {
  const { model, commit } = session
  const key = keyOf(step)
  const present = model.live(key)
  const { refusal, hasInvalidTtl, after } = judgeWrite(
    step,
    presentOf(present),
    model.defaultTtl !== null,
  )
  const n = session.nextNumber()
  const outcome = await outcomeOf(callSingle(session, step, n))
  const u = uniqueValue(step, { n, present: present?.u })
  const breach = model.uniqueBreach([{ pk: step.pk, id: step.id, u }])
  const wanted =
    refusal ??
    (hasInvalidTtl ? 'ERR_INVALID_DOCUMENT' : breach === undefined ? 'done' : 'ERR_UNIQUE_KEY')
  expectSame(`outcome of ${step.do} ${key}`, outcomeCode(outcome), wanted)
  if (outcome.kind === 'failed') return
  const { lsn, serverTimeMs } = outcome.value
  expectSame("the store's clock in the commit", serverTimeMs, model.nowMs)
  const moment = { lsn, timeMs: serverTimeMs, commit }
  model.noteCommit({ epk: epkOf(step.pk), lsn })
  if (after === undefined || u === undefined) return model.remove(key, moment)
  model.put({ pk: step.pk, id: step.id, n, ttl: after.ttl, u }, moment)
  if (!('created' in outcome.value)) return
  const { created, document } = outcome.value
  expectSame(`created, of ${key}`, created, present === undefined)
  const version = model.live(key)
  if (version !== undefined) expectDocument(session, document, version)
}

/** What the document's unique key has afterwards; undefined = there is no document. */
function uniqueValue(
  { do: kind, u }: { readonly do: WriteKind | AtomicStep['do']; readonly u?: string },
  { n, present }: { readonly n: number; readonly present: string | undefined },
): string | undefined {
  if (kind === 'delete') return undefined
  return kind === 'patch' ? present : (u ?? `own ${n}`)
}

function callSingle(
  session: Session,
  step: SingleStep,
  n: number,
): Promise<WriteResult<ModelDocument> | DeleteResult> {
  const { collection } = session
  const { pk, id, ttl } = step
  const options = ifMatch(session, step)
  const u = uniqueValue(step, { n, present: undefined })
  const document = { id, pk, n, u, ...(ttl !== undefined && { ttl }) }
  switch (step.do) {
    case 'create':
      return collection.create(document)
    case 'upsert':
      return collection.upsert(document, options)
    case 'replace':
      return collection.replace(document, options)
    case 'patch':
      return collection.patch(id, pk, patchOperations(step.change, n), options)
    case 'delete':
      return collection.delete(id, pk, options)
  }
}

function ifMatch(
  { model, etags }: Session,
  {
    pk,
    id,
    ifMatch: match,
  }: { readonly pk: string; readonly id: string; readonly ifMatch?: Match },
): { readonly ifMatch?: string } {
  if (match === undefined) return {}
  const present = match === 'current' ? model.live(keyOf({ pk, id })) : undefined
  return { ifMatch: (present && etags.get(present.n)) ?? STALE_ETAG }
}

function patchOperations(change: PatchChange | undefined, n: number): readonly PatchOperation[] {
  const number: PatchOperation = { op: 'set', path: '/n', value: n }
  if (change === undefined) return [number]
  if ('setTtl' in change) return [number, { op: 'set', path: '/ttl', value: change.setTtl }]
  return change.do === 'removeTtl' ? [number, { op: 'remove', path: '/ttl' }] : [number]
}

/** A transactional batch on one partition key value. */
export async function performBatch(
  session: Session,
  { pk, operations }: Extract<Step, { do: 'batch' }>,
): Promise<void> {
  const { model, commit, collection } = session
  const { failures, after } = judgeBatch(
    operations,
    (id) => presentOf(model.live(keyOf({ pk, id }))),
    model.defaultTtl !== null,
  )
  const numbers = operations.map(() => session.nextNumber())
  const calls = operations.map((operation, index) =>
    batchOperation(session, pk, { operation, n: numbers[index] ?? 0 }),
  )
  const values = uniqueValuesOf(session, pk, { operations, numbers })
  const written = operations.flatMap(({ do: kind, id }, index) =>
    kind === 'read' ? [] : [{ pk, id, u: values[index], index }],
  )
  const breach = failures.size === 0 ? model.uniqueBreach(written) : undefined
  const breaking = breach === undefined ? undefined : written[breach]
  if (breaking !== undefined) failures.set(breaking.index, 'ERR_UNIQUE_KEY')
  const outcome = await outcomeOf(collection.batch(pk, calls))
  if (failures.size > 0) {
    expectSame('outcome of the batch', outcomeCode(outcome), 'ERR_BATCH_FAILED')
    return expectNamed(outcome, failures)
  }
  expectSame('outcome of the batch', outcomeCode(outcome), 'done')
  if (outcome.kind === 'failed') return
  const { lsn, serverTimeMs } = outcome.value
  if (lsn === undefined) return expectThat(!leavesAnything(), () => 'a batch that wrote has no LSN')
  expectSame("the store's clock in the commit", serverTimeMs, model.nowMs)
  model.noteCommit({ epk: epkOf(pk), lsn })
  for (const [id, left] of after) {
    const moment = { lsn, timeMs: serverTimeMs, commit }
    const u = left && values[left.writer]
    if (left === undefined || u === undefined) model.remove(keyOf({ pk, id }), moment)
    else model.put({ pk, id, n: numbers[left.writer] ?? 0, ttl: left.ttl, u }, moment)
  }

  function leavesAnything(): boolean {
    return [...after].some(
      ([id, left]) => left !== undefined || model.live(keyOf({ pk, id })) !== undefined,
    )
  }
}

/** Of each operation, the value that its document has afterwards. */
function uniqueValuesOf(
  { model }: Session,
  pk: string,
  {
    operations,
    numbers,
  }: { readonly operations: readonly BatchStep[]; readonly numbers: readonly number[] },
): readonly (string | undefined)[] {
  const present = new Map<string, string | undefined>()
  return operations.map((operation, index) => {
    const { do: kind, id } = operation
    const before = present.has(id) ? present.get(id) : model.live(keyOf({ pk, id }))?.u
    if (kind === 'read') return before
    const u = uniqueValue(operation, { n: numbers[index] ?? 0, present: before })
    present.set(id, u)
    return u
  })
}

function expectNamed(outcome: Outcome<unknown>, failures: ReadonlyMap<number, string>): void {
  if (outcome.kind !== 'failed' || !(outcome.error instanceof BatchFailedError)) return
  const { operationIndex, cause } = outcome.error
  const wanted = failures.get(operationIndex)
  const possible = (): string => JSON.stringify([...failures])
  expectThat(
    wanted === cause.code,
    () => `operation ${operationIndex} failed with ${cause.code}, the model says ${possible()}`,
  )
}

function batchOperation(
  session: Session,
  pk: string,
  { operation, n }: { readonly operation: BatchStep; readonly n: number },
): BatchOperation<ModelDocument> {
  const { id } = operation
  const conditions = ifMatch(session, { pk, ...operation })
  switch (operation.do) {
    case 'create':
    case 'upsert':
    case 'replace': {
      const { ttl } = operation
      const u = uniqueValue(operation, { n, present: undefined })
      const document = { id, pk, n, u, ...(ttl !== undefined && { ttl }) }
      if (operation.do === 'create') return { kind: 'create', document }
      return { kind: operation.do, document, ...conditions }
    }
    case 'patch':
      return { kind: 'patch', id, operations: patchOperations(operation.change, n), ...conditions }
    case 'delete':
    case 'read':
      return { kind: operation.do, id, ...conditions }
  }
}

/** Writes of several partition key values at once. */
export async function performAtomic(
  session: Session,
  { writes }: Extract<Step, { do: 'atomic' }>,
): Promise<void> {
  const { model, commit } = session
  const numbers = writes.map(() => session.nextNumber())
  const nowSecond = Math.floor(model.nowMs / 1000)
  const calls = writes.map((write, index) =>
    atomicWrite(session, write, { n: numbers[index] ?? 0, nowSecond }),
  )
  const values = writes.map((write, index) =>
    uniqueValue(write, { n: numbers[index] ?? 0, present: undefined }),
  )
  const reasons = refusalsOf(session, writes)
  const changed = writes.flatMap((write, index) =>
    write.do === 'check' ? [] : [{ ...write, u: values[index] }],
  )
  if (reasons.size === 0 && model.uniqueBreach(changed) !== undefined) reasons.add('ERR_UNIQUE_KEY')
  const outcome = await outcomeOf(session.database.commitAtomically(calls))
  if (reasons.size > 0) {
    expectSame('outcome of the atomic commit', outcomeCode(outcome), 'ERR_ATOMIC_WRITE_FAILED')
    if (outcome.kind !== 'failed' || !(outcome.error instanceof AtomicWriteFailedError)) return
    const { code } = outcome.error.cause
    expectThat(reasons.has(code), () => `it failed with ${code}, the model: ${[...reasons].join()}`)
    return
  }
  expectSame('outcome of the atomic commit', outcomeCode(outcome), 'done')
  if (outcome.kind === 'failed') return
  const { lsns, serverTimeMs } = outcome.value
  expectSame("the store's clock in the commit", serverTimeMs, model.nowMs)
  const puts = writes.flatMap(({ do: kind, pk }, index) =>
    kind === 'put' ? [{ epk: epkOf(pk), lsn: lsns[index] ?? 0 }] : [],
  )
  model.noteCommit(...puts)
  for (const [index, write] of writes.entries()) {
    const lsn = lsns[index] ?? 0
    const moment = { lsn, timeMs: serverTimeMs, commit }
    if (write.do === 'delete') model.remove(keyOf(write), moment)
    if (write.do !== 'put') continue
    const { pk, id, expiresIn } = write
    const ttl = expiresIn === undefined ? write.ttl : Math.max(1, expiresIn)
    model.put({ pk, id, n: numbers[index] ?? 0, ttl, u: values[index] ?? '' }, moment)
  }
}

const ATOMIC_CONDITIONS: Readonly<Record<AtomicStep['condition'], EtagConditions>> = {
  none: {},
  absent: { ifNoneMatch: '*' },
  present: { ifMatch: '*' },
}

function atomicWrite(
  { collection }: Session,
  write: AtomicStep,
  { n, nowSecond }: { readonly n: number; readonly nowSecond: number },
): AtomicWrite {
  const { pk, id, ttl, expiresIn } = write
  const conditions = ATOMIC_CONDITIONS[write.condition]
  if (write.do !== 'put') {
    return { collection, operation: { kind: write.do, id, partitionKey: pk, ...conditions } }
  }
  const u = uniqueValue(write, { n, present: undefined })
  const document = { id, pk, n, u, ...(ttl !== undefined && { ttl }) }
  const expiresAtMs = expiresIn === undefined ? undefined : (nowSecond + expiresIn) * 1000
  return { collection, operation: { kind: 'put', document, ...conditions, expiresAtMs } }
}

/** Codes of which the commit may be refused with any; none = it is done. */
function refusalsOf({ model }: Session, writes: readonly AtomicStep[]): Set<string> {
  const reasons = new Set<string>()
  const overlay = new Map<string, boolean>()
  for (const write of writes) {
    const key = keyOf(write)
    const isThere = overlay.get(key) ?? model.live(key) !== undefined
    const isRefused =
      (write.condition === 'absent' && isThere) || (write.condition === 'present' && !isThere)
    if (isRefused) reasons.add('ERR_PRECONDITION_FAILED')
    const { ttl, expiresIn } = write
    const isInvalid = expiresIn === undefined && ttl !== undefined && !isValidTtl(ttl)
    if (write.do === 'put' && isInvalid && model.defaultTtl !== null) {
      reasons.add('ERR_INVALID_DOCUMENT')
    }
    if (write.do !== 'check') overlay.set(key, write.do === 'put')
  }
  return reasons
}

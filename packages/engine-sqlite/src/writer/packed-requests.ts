import assert from 'node:assert/strict'
import type {
  CommitBatch,
  CommitOperation,
  WriteCondition,
  WriteFence,
} from '@tidemark/store/engine'
import type { CrossingRequests, PackedRequests, WriterRequest } from './writer-messages.ts'

/*
 * The form in which commits cross to the writer's thread: one flat list for a whole message, because copying a document's
 * nested objects between threads cost more than its text. A commit is: id, caller's time, characters, `sync`, the fence's job,
 * number of batches. A fence also has: interval, epoch. A batch is: collection, EPK, partition key, number of operations. An
 * operation is: kind, id, condition, its LSN; a put also: rid, body, ttl, second of expiry. OTHER stands for a request that
 * crosses as it is.
 */

const OTHER = -1
const KINDS = ['put', 'delete', 'check'] as const
const CONDITIONS = ['none', 'absent', 'present', 'lsn', 'notLsn'] as const

export function packRequests(requests: readonly WriterRequest[]): CrossingRequests {
  const packed: (string | number | boolean | undefined)[] = []
  const others: WriterRequest[] = []
  for (const request of requests) {
    const { id, nowMs, chars, task } = request
    // Messages and unique keys are rare.
    const isPlain =
      task.kind === 'commit' &&
      task.sends === undefined &&
      task.batches.every(({ uniqueSteps }) => uniqueSteps === undefined)
    if (!isPlain) {
      packed.push(OTHER)
      others.push(request)
      continue
    }
    const { sync, fence, batches } = task
    packed.push(id, nowMs, chars, sync, fence?.job)
    if (fence !== undefined) {
      packed.push(fence.range.minInclusive, fence.range.maxExclusive, fence.epoch)
    }
    packed.push(batches.length)
    for (const { collection, epk, partitionKey, operations } of batches) {
      packed.push(collection, epk, partitionKey, operations.length)
      for (const operation of operations) {
        const { kind, id: documentId, condition } = operation
        const lsn = 'lsn' in condition ? condition.lsn : 0
        packed.push(KINDS.indexOf(kind), documentId, CONDITIONS.indexOf(condition.kind), lsn)
        if (operation.kind !== 'put') continue
        const { rid, body, ttl, expirySecond } = operation
        packed.push(rid, body, ttl, expirySecond)
      }
    }
  }
  return { packed, others }
}

/** In the order in which they were packed. */
export function unpackRequests({ packed, others }: CrossingRequests): readonly WriterRequest[] {
  const reader = new PackedReader(packed)
  const requests: WriterRequest[] = []
  let nextOther = 0
  while (!reader.isAtEnd) {
    const id = reader.number()
    const other = id === OTHER ? others[nextOther++] : undefined
    requests.push(other ?? unpackCommit(reader, id))
  }
  return requests
}

function unpackCommit(reader: PackedReader, id: number): WriterRequest {
  const nowMs = reader.number()
  const chars = reader.number()
  const sync = reader.value()
  const fence = unpackFence(reader)
  const batches: CommitBatch[] = []
  for (let left = reader.number(); left > 0; left--) {
    const collection = reader.number()
    const epk = reader.text()
    const partitionKey = reader.text()
    const operations: CommitOperation[] = []
    for (let more = reader.number(); more > 0; more--) operations.push(unpackOperation(reader))
    batches.push({ collection, epk, partitionKey, operations })
  }
  return { id, nowMs, chars, task: { kind: 'commit', batches, fence, sync: sync !== false } }
}

function unpackFence(reader: PackedReader): WriteFence | undefined {
  const job = reader.value()
  if (typeof job !== 'string') return undefined
  const range = { minInclusive: reader.text(), maxExclusive: reader.text() }
  return { job, range, epoch: reader.number() }
}

function unpackOperation(reader: PackedReader): CommitOperation {
  const kind = KINDS[reader.number()] ?? 'check'
  const id = reader.text()
  const condition = unpackCondition(reader)
  if (kind !== 'put') return { kind, id, condition }
  const rid = reader.text()
  const body = reader.text()
  const ttl = reader.value()
  const second = reader.value()
  return {
    kind,
    id,
    condition,
    rid,
    body,
    ttl: typeof ttl === 'number' ? ttl : 'invalid',
    expirySecond: typeof second === 'number' ? second : undefined,
  }
}

function unpackCondition(reader: PackedReader): WriteCondition {
  const kind = CONDITIONS[reader.number()] ?? 'none'
  const lsn = reader.number()
  return kind === 'lsn' || kind === 'notLsn' ? { kind, lsn } : { kind }
}

class PackedReader {
  readonly #packed: PackedRequests
  #position = 0

  constructor(packed: PackedRequests) {
    this.#packed = packed
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#packed.length
  }

  value(): PackedRequests[number] {
    return this.#packed[this.#position++]
  }

  number(): number {
    const value = this.value()
    assert(typeof value === 'number', 'a packed request has a number here')
    return value
  }

  text(): string {
    const value = this.value()
    assert(typeof value === 'string', 'a packed request has a text here')
    return value
  }
}

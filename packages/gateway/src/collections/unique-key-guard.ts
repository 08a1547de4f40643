import {
  errorCode,
  type BatchOperation,
  type DocumentBody,
  type PartitionKeyComponent,
  type PatchOperation,
} from '@tidemark/contracts'
import {
  applyPatch,
  type Collection,
  type EncodedPartitionKey,
  type OpenCollection,
} from '@tidemark/store'
import { KeyQueue } from './key-queue.ts'
import { uniqueKeysOf, uniqueValues, type UniqueKey } from './unique-key-policy.ts'
import { UniqueKeyError } from '../errors/unique-key-error.ts'
import { isJsonRecord, parseJsonRecord } from '../protocol/request-values.ts'

/** Where operations are to be done. */
export interface GuardedPartition {
  readonly collection: Collection
  readonly open: OpenCollection
  readonly key: EncodedPartitionKey
  readonly partitionKey: readonly PartitionKeyComponent[]
}

/** The operation that would break a unique key. */
export interface UniqueKeyBreach {
  readonly operationIndex: number
  readonly error: UniqueKeyError
}

/**
 * Holds writes to the unique keys of their container, within one partition key value.
 *
 * Writes through this gateway to a container that has unique keys go one after the other for each partition key
 * value, and each looks at the others' documents first. What is written in process, or through a second gateway at the
 * same moment, is not seen: it is the gateway's promise, not the store's.
 */
export class UniqueKeyGuard {
  readonly #queue = new KeyQueue()
  readonly #keys = new WeakMap<OpenCollection, readonly UniqueKey[]>()

  /** Acts, unless an operation would break a unique key: then with what it breaks instead. */
  async guard<Result>(
    partition: GuardedPartition,
    operations: readonly BatchOperation<DocumentBody>[],
    {
      act,
      refuse,
    }: {
      readonly act: () => Promise<Result>
      readonly refuse: (breach: UniqueKeyBreach) => Result
    },
  ): Promise<Result> {
    const { collection, open, key, partitionKey } = partition
    const keys = this.#keysOf(open)
    if (keys.length === 0) return act()
    return this.#queue.run(`${open.record.rid} ${key.text}`, async () => {
      const { documents } = await collection.readPartition(partitionKey)
      const breach = findBreach(new Map(documents.map((present) => [present.id, present])), {
        operations,
        keys,
        partitionKeyPaths: open.record.definition.partitionKey.paths,
      })
      return breach === undefined ? act() : refuse(breach)
    })
  }

  /** The policy is for ever, so that the record which the handle found is good enough. */
  #keysOf(open: OpenCollection): readonly UniqueKey[] {
    const known = this.#keys.get(open)
    if (known !== undefined) return known
    const { annotation } = open.record.definition
    const kept = annotation === undefined ? undefined : parseJsonRecord(annotation)['echo']
    const keys = isJsonRecord(kept) ? uniqueKeysOf(kept) : []
    this.#keys.set(open, keys)
    return keys
  }
}

/** Plays the operations over the documents that are there; what fails for other reasons is left to the store. */
function findBreach(
  documents: Map<string, object>,
  {
    operations,
    keys,
    partitionKeyPaths,
  }: {
    readonly operations: readonly BatchOperation<DocumentBody>[]
    readonly keys: readonly UniqueKey[]
    readonly partitionKeyPaths: readonly string[]
  },
): UniqueKeyBreach | undefined {
  for (const [operationIndex, operation] of operations.entries()) {
    if (operation.kind === 'delete') documents.delete(operation.id)
    const written = writtenBy(operation, documents, partitionKeyPaths)
    if (written === undefined) continue
    const { id, document } = written
    for (const key of keys) {
      const values = uniqueValues(document, key)
      for (const [otherId, other] of documents) {
        if (otherId === id || uniqueValues(other, key) !== values) continue
        return { operationIndex, error: new UniqueKeyError(id, key) }
      }
    }
    documents.set(id, document)
  }
  return undefined
}

/** The document that an operation leaves; undefined when it leaves none, or fails. */
function writtenBy(
  operation: BatchOperation<DocumentBody>,
  documents: ReadonlyMap<string, object>,
  partitionKeyPaths: readonly string[],
): { readonly id: string; readonly document: object } | undefined {
  if ('document' in operation) return { id: operation.document.id, document: operation.document }
  if (operation.kind !== 'patch') return undefined
  const { id, operations } = operation
  const document = patched(documents.get(id), operations, partitionKeyPaths)
  return document && { id, document }
}

function patched(
  present: object | undefined,
  operations: readonly PatchOperation[],
  partitionKeyPaths: readonly string[],
): object | undefined {
  if (present === undefined) return undefined
  const copy: object = structuredClone(present)
  try {
    applyPatch(copy, structuredClone(operations), partitionKeyPaths)
    return copy
  } catch (error) {
    if (errorCode(error) === 'ERR_INVALID_PATCH') return undefined
    throw error
  }
}

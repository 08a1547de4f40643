import {
  BatchFailedError,
  CodedError,
  CommitTooLargeError,
  InvalidOptionError,
  ResourceNotFoundError,
  type EtagConditions,
  type BatchOperation,
  type BatchResult,
  type DocumentBody,
  type Stored,
} from '@tidemark/contracts'
import { checkOptions, documentEtag, type DocumentVersion } from '@tidemark/contracts/internal'
import { readPresentRecord } from '../catalog/change-settings.ts'
import { checkedDocumentId } from '../catalog/resource-names.ts'
import type { CommitOperation, UniqueBreach, UniqueStep, WriteCondition } from '../engine/commit.ts'
import { WriteConflictError } from '../errors/write-conflict-error.ts'
import { invalidTtl, type EncodedDocument, type EncodedPartitionKey } from './document-encoder.ts'
import { readRow, type OpenCollection } from './open-collection.ts'
import { patchedDocument } from './patch-document.ts'
import { lazily } from './lazily.ts'
import { batchRules, commitSending, type BatchOptions } from './outbox.ts'
import { notUnique } from './unique-entries.ts'
import { conditionFailure, engineCondition, refusal } from './write-conditions.ts'
import {
  MAX_WRITE_ATTEMPTS,
  batchLsn,
  putOperation,
  writtenVersion,
  type Committed,
  type Refused,
} from './write-document.ts'
import { checkBatchOperation } from './write-rules.ts'

/** As in Cosmos DB. */
const MAX_OPERATIONS = 100
/** Of documents that are read or patched, each as often as it is. */
const MAX_BATCH_CHARS = 16 * 1024 * 1024

/** What an operation contributes to the answer: a stored version, a document that the commit completes, or nothing. */
type Answer =
  | { readonly kind: 'stored'; readonly version: DocumentVersion }
  | { readonly kind: 'written'; readonly encoded: EncodedDocument }
  | { readonly kind: 'nothing' }

/** Operations ready to commit, and what the answer contains for their outcome. */
interface Plan {
  readonly operations: readonly CommitOperation[]
  readonly answers: readonly Answer[]
  /** Writes that a later operation of the batch overwrites, so the engine does not get them. */
  readonly overwritten: readonly EncodedWrite[]
  /**
   * One entry for each write of the batch, including overwritten ones. Undefined in a collection without unique keys.
   */
  readonly uniqueSteps: readonly BatchStep[] | undefined
}

/** With the operation that it belongs to. */
interface BatchStep extends UniqueStep {
  readonly operationIndex: number
}

interface EncodedWrite {
  readonly operationIndex: number
  readonly encoded: EncodedDocument
}

/** The answer to a batch in process. It includes the stored texts, for callers that only forward them. */
export interface TextBatchResult<T extends DocumentBody> extends BatchResult<T> {
  /** One entry for each operation: the document as written or read, as JSON text; undefined where there is none. */
  readonly texts: readonly (string | undefined)[]
  /** One entry for each operation: true where it wrote a document that did not exist before. */
  readonly created: readonly boolean[]
}

/** One transactional batch on one partition key value (ST-4). */
export class TransactionalBatch<T extends DocumentBody> {
  readonly #open: OpenCollection
  readonly #key: EncodedPartitionKey
  readonly #operations: readonly BatchOperation<T>[]
  readonly #ids: readonly string[]
  readonly #encoded: readonly (EncodedDocument | undefined)[]

  /** @throws ERR_INVALID_OPTION for a wrong number of operations, ERR_BATCH_FAILED for an invalid one */
  constructor(
    open: OpenCollection,
    key: EncodedPartitionKey,
    operations: readonly BatchOperation<T>[],
  ) {
    if (operations.length < 1 || operations.length > MAX_OPERATIONS) {
      throw new InvalidOptionError(
        `a batch has 1 to ${MAX_OPERATIONS} operations, got ${operations.length}`,
      )
    }
    for (const [index, operation] of operations.entries()) {
      failingAs(index, () => checkBatchOperation(operation))
    }
    this.#open = open
    this.#key = key
    this.#operations = operations
    this.#encoded = operations.map((operation, index) =>
      failingAs(index, () =>
        'document' in operation ? open.encoder.encode(operation.document, key) : undefined,
      ),
    )
    this.#ids = operations.map((operation, index) =>
      failingAs(index, () =>
        'document' in operation
          ? (this.#encoded[index]?.id ?? '')
          : checkedDocumentId(operation.id),
      ),
    )
  }

  async run(options: BatchOptions): Promise<TextBatchResult<T>> {
    checkOptions(options, batchRules)
    const { signal } = options
    signal?.throwIfAborted()
    const direct = this.#directPlan()
    if (direct !== undefined) {
      const outcome = await this.#commit(direct, options)
      if (outcome.kind === 'committed') return this.#result(direct, outcome)
      const { operationIndex, presentLsn } = outcome
      const { kind = 'read' } = this.#operations[operationIndex] ?? {}
      const id = this.#ids[operationIndex] ?? ''
      throw new BatchFailedError(operationIndex, refusal(kind, id, this.#open.record, presentLsn))
    }
    for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
      signal?.throwIfAborted()
      const plan = await this.#simulate(await this.#readAll())
      await this.#checkOverwritten(plan)
      const outcome = await this.#commit(plan, options)
      if (outcome.kind === 'committed') return this.#result(plan, outcome)
    }
    throw new WriteConflictError(this.#ids[0] ?? '', MAX_WRITE_ATTEMPTS)
  }

  /** One engine operation each, if every document is named once and nothing has to be read first. */
  #directPlan(): Plan | undefined {
    if (new Set(this.#ids).size !== this.#ids.length) return undefined
    const commits: CommitOperation[] = []
    const answers: Answer[] = []
    for (const [index, operation] of this.#operations.entries()) {
      const encoded = this.#encoded[index]
      if (operation.kind === 'patch' || operation.kind === 'read') return undefined
      const condition = failingAs(index, () =>
        engineCondition(operation.kind, conditionsOf(operation), this.#open.record.number),
      )
      if (condition === undefined) return undefined
      if (encoded === undefined) {
        commits.push({ kind: 'delete', id: this.#ids[index] ?? '', condition })
        answers.push({ kind: 'nothing' })
      } else {
        commits.push(putOperation(encoded, condition))
        answers.push({ kind: 'written', encoded })
      }
    }
    return { operations: commits, answers, overwritten: [], uniqueSteps: this.#stepsOf(answers) }
  }

  async #readAll(): Promise<ReadonlyMap<string, DocumentVersion>> {
    const rows = new Map<string, DocumentVersion>()
    let chars = 0
    for (const id of new Set(this.#ids)) {
      const row = await readRow(this.#open, this.#key, id)
      if (row === undefined) continue
      rows.set(id, row)
      chars += row.body.length
      assertBatchSize(chars)
    }
    return rows
  }

  /** Applies the operations to the rows that were read. The commit judges whether these rows are still current. */
  async #simulate(rows: ReadonlyMap<string, DocumentVersion>): Promise<Plan> {
    const { turns, record } = this.#open
    const { number } = record
    const documents = new Map<string, BatchedDocument>()
    for (const [id, row] of rows) {
      documents.set(id, { kind: 'stored', version: row, etag: documentEtag(number, row.lsn) })
    }
    const touched = new Set<string>()
    const answers: Answer[] = []
    let chars = 0
    for (const [index, operation] of this.#operations.entries()) {
      const answer = failingAs(index, (): Answer => {
        const id = this.#ids[index] ?? ''
        const present = documents.get(id)
        const failure = conditionFailure(operation.kind, id, conditionsOf(operation), present?.etag)
        if (failure !== undefined) throw failure
        if (operation.kind === 'read') return readAnswer(present, operation.ifNoneMatch)
        touched.add(id)
        if (operation.kind === 'delete') {
          documents.delete(id)
          return { kind: 'nothing' } as const
        }
        const encoded = this.#encoded[index] ?? this.#patched(operation, present)
        documents.set(id, { kind: 'written', encoded, etag: '' })
        return { kind: 'written', encoded } as const
      })
      answers.push(answer)
      const made = this.#encoded[index] === undefined ? charsOf(answer) : 0
      turns.spend(made)
      if (turns.due) await turns.take()
      chars += made
      assertBatchSize(chars)
    }
    const operations = [...new Set(this.#ids)].map((id): CommitOperation => {
      const lsn = rows.get(id)?.lsn
      const condition: WriteCondition =
        lsn === undefined ? { kind: 'absent' } : { kind: 'lsn', lsn }
      const document = documents.get(id)
      if (document?.kind === 'written') return putOperation(document.encoded, condition)
      // Created and deleted again within the batch: nothing to write.
      return { kind: touched.has(id) && lsn !== undefined ? 'delete' : 'check', id, condition }
    })
    const overwritten = answers.flatMap((answer, operationIndex) => {
      if (answer.kind !== 'written') return []
      const { encoded } = answer
      const last = documents.get(encoded.id)
      const isLast = last?.kind === 'written' && last.encoded === encoded
      return isLast ? [] : [{ operationIndex, encoded }]
    })
    return { operations, answers, overwritten, uniqueSteps: this.#stepsOf(answers) }
  }

  /**
   * In the order of the batch, although the engine gets only each document's last state: unique values can move between
   * documents.
   */
  #stepsOf(answers: readonly Answer[]): readonly BatchStep[] | undefined {
    const { uniqueKeys } = this.#open.record.definition
    if (uniqueKeys === undefined || uniqueKeys.length === 0) return undefined
    return answers.flatMap((answer, operationIndex) => {
      if (this.#operations[operationIndex]?.kind === 'read') return []
      const id = this.#ids[operationIndex] ?? ''
      const { uniqueEntries: entries = [] } = answer.kind === 'written' ? answer.encoded : {}
      return [{ operationIndex, id, entries }]
    })
  }

  async #commit(plan: Plan, { messages, sync }: BatchOptions): Promise<Committed | Refused> {
    const { engine, record, encoder } = this.#open
    const { epk, text: partitionKey } = this.#key
    const { operations } = plan
    const uniqueSteps = plan.uniqueSteps?.map(({ id, entries }) => ({ id, entries }))
    const batch = { collection: record.number, epk, partitionKey, operations, uniqueSteps }
    const { maxBytes: maxDocumentBytes } = encoder
    const outcome = await commitSending(
      engine,
      { batches: [batch], sync },
      { messages, maxDocumentBytes },
    )
    switch (outcome.kind) {
      case 'committed':
      case 'refused':
        return outcome
      case 'invalidTtl':
        throw this.#invalidTtl(plan, outcome.operationIndex)
      case 'notUnique':
        throw this.#notUnique(plan, outcome)
      default:
        // A commit without a fence cannot be fenced.
        throw new ResourceNotFoundError('collection', record.id)
    }
  }

  #notUnique({ uniqueSteps }: Plan, outcome: UniqueBreach): BatchFailedError {
    const { operationIndex = 0, id = '' } = uniqueSteps?.[outcome.stepIndex] ?? {}
    return new BatchFailedError(operationIndex, notUnique(this.#open.record, id, outcome))
  }

  /**
   * Refuses a batch with an invalid `ttl` as a whole, also when the batch itself removes it again. Such a version is
   * never stored, so a change of TTL meanwhile does not matter.
   */
  async #checkOverwritten({ overwritten }: Plan): Promise<void> {
    const bad = overwritten.find(({ encoded }) => encoded.ttl === 'invalid')
    if (bad === undefined) return
    const { definition } = await readPresentRecord(this.#open)
    if (definition.defaultTtl === null) return
    throw new BatchFailedError(bad.operationIndex, invalidTtl(bad.encoded))
  }

  #invalidTtl({ operations, answers }: Plan, operationIndex: number): BatchFailedError {
    const id = operations[operationIndex]?.id
    // A read of a document that the batch wrote has the same answer, and did not fail.
    const writer = answers.findLastIndex(
      (answer, index) =>
        answer.kind === 'written' &&
        answer.encoded.id === id &&
        this.#operations[index]?.kind !== 'read',
    )
    const answer = answers[writer]
    const encoded = answer?.kind === 'written' ? answer.encoded : undefined
    return new BatchFailedError(Math.max(0, writer), invalidTtl(encoded))
  }

  /** Applies the operations once more, because the commit reports on the documents before the batch. */
  #created(operations: readonly CommitOperation[], outcome: Committed): readonly boolean[] {
    const existed = outcome.batches[0]?.existed ?? []
    const present = new Map(operations.map(({ id }, index) => [id, existed[index] === true]))
    return this.#operations.map(({ kind }, index) => {
      const id = this.#ids[index] ?? ''
      if (kind === 'read') return false
      const created = kind !== 'delete' && present.get(id) !== true
      present.set(id, kind !== 'delete')
      return created
    })
  }

  #patched(operation: BatchOperation<T>, present: BatchedDocument | undefined): EncodedDocument {
    if (operation.kind !== 'patch') throw new InvalidOptionError('the operation has no document')
    const { id, operations, condition } = operation
    const read = (): Stored<T> => this.#read(present)
    return patchedDocument(this.#open, this.#key, { id, read, operations, condition })
  }

  /** A document that the batch itself wrote has no system properties yet. */
  #read(present: BatchedDocument | undefined): Stored<T> {
    if (present?.kind === 'stored') return this.#open.stamp.document<T>(present.version)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- conditions see what the batch has so far
    return JSON.parse(present?.encoded.body ?? '{}') as Stored<T>
  }

  #result({ operations, answers }: Plan, outcome: Committed): TextBatchResult<T> {
    const writes = operations.some(({ kind }) => kind !== 'check')
    const lsn = batchLsn(outcome)
    const { stamp } = this.#open
    const versions = answers.map((answer) => {
      if (answer.kind === 'nothing') return undefined
      return answer.kind === 'stored' ? answer.version : writtenVersion(answer.encoded, outcome)
    })
    const texts = lazily(() => versions.map((version) => version && stamp.text(version)))
    const documents = lazily(() => versions.map((version) => version && stamp.document<T>(version)))
    return {
      lsn: writes ? lsn : undefined,
      get documents() {
        return documents()
      },
      get texts() {
        return texts()
      },
      created: this.#created(operations, outcome),
      serverTimeMs: outcome.timeMs,
    }
  }
}

/** A document as the batch has it so far. The etag is empty when the batch wrote it: only the commit has it. */
type BatchedDocument = Exclude<Answer, { readonly kind: 'nothing' }> & { readonly etag: string }

function charsOf(answer: Answer): number {
  if (answer.kind === 'nothing') return 0
  return (answer.kind === 'stored' ? answer.version : answer.encoded).body.length
}

/** Each read makes an answer longer, and each patch a document once more, however small the batch is. */
function assertBatchSize(chars: number): void {
  if (chars <= MAX_BATCH_CHARS) return
  throw new CommitTooLargeError(
    `the documents that a batch reads and patches have at most ${MAX_BATCH_CHARS} characters together`,
  )
}

function readAnswer(present: BatchedDocument | undefined, ifNoneMatch: string | undefined): Answer {
  if (present === undefined) return { kind: 'nothing' }
  if (ifNoneMatch !== undefined && (ifNoneMatch === '*' || ifNoneMatch === present.etag)) {
    return { kind: 'nothing' }
  }
  return present
}

function conditionsOf<T extends DocumentBody>(operation: BatchOperation<T>): EtagConditions {
  return operation.kind === 'create' ? {} : operation
}

function failingAs<Value>(operationIndex: number, act: () => Value): Value {
  try {
    return act()
  } catch (error) {
    if (error instanceof CodedError) throw new BatchFailedError(operationIndex, error)
    throw error
  }
}

import { CosmosClient, type Container, type OperationInput } from '@azure/cosmos'
import { SERVED_KEY } from '../../gateway/signed-request.ts'
import { Lane, versionOf, type LaneOperation, type LaneState } from '../lane.ts'
import type { Acknowledgement } from '../acknowledgements.ts'

export interface LaneTask {
  readonly seed: number
  readonly round: number
  readonly lane: number
  readonly before: LaneState
}

/** Writes lanes through the unmodified client of Azure Cosmos DB until its server dies. */
export class LaneClient implements Disposable {
  readonly #client: CosmosClient
  readonly #documents: Container
  readonly #ended = new AbortController()
  #server: 'alive' | 'dying' = 'alive'
  /** What was answered as done, in the order of the answers. */
  readonly acknowledged: Acknowledgement[] = []

  constructor(endpoint: string) {
    this.#client = new CosmosClient({ endpoint, key: SERVED_KEY })
    this.#documents = this.#client.database('crash').container('documents')
  }

  /** The server is about to be killed: what fails from now on has a reason. Answers still count. */
  expectDeath(): void {
    this.#server = 'dying'
  }

  /** Calls that are on their way fail from now on: the client itself would go on for two minutes. */
  [Symbol.dispose](): void {
    this.#ended.abort()
    this.#client.dispose()
  }

  /** Resolves when the server is dead, or the client disposed of; rejects when the server refuses what is right. */
  async write({ seed, round, lane: number, before }: LaneTask): Promise<void> {
    const lane = new Lane({ seed, round, lane: number }, before)
    for (;;) {
      const operation = lane.next()
      let lsn: number
      try {
        lsn = await this.#carryOut(lane.partitionKey, { round, operation })
      } catch (error) {
        if (this.#server === 'dying') return
        throw error
      }
      this.acknowledged.push({ lane: number, index: operation.index, lsn })
    }
  }

  /** Resolves with the LSN of the commit. */
  async #carryOut(
    partitionKey: string,
    {
      round,
      operation: { index, operations },
    }: { readonly round: number; readonly operation: LaneOperation },
  ): Promise<number> {
    const documentOf = (id: string) => ({
      id,
      lane: partitionKey,
      version: versionOf(round, index),
      filler: 'x'.repeat((index * 37) % 700),
    })
    const [first, ...others] = operations
    if (first === undefined) throw new Error('a lane always does something')
    const abortSignal = this.#ended.signal
    if (others.length > 0) {
      const batch = operations.map(({ kind, id }): OperationInput => {
        if (kind === 'delete') return { operationType: 'Delete', id }
        const resourceBody = documentOf(id)
        if (kind === 'create') return { operationType: 'Create', resourceBody }
        if (kind === 'upsert') return { operationType: 'Upsert', resourceBody }
        return { operationType: 'Replace', id, resourceBody }
      })
      const answer = await this.#documents.items.batch(batch, partitionKey, { abortSignal })
      if (answer.code !== 200) throw new Error(`a batch was answered ${answer.code}`)
      return lsnOf(answer.headers)
    }
    const item = this.#documents.item(first.id, partitionKey)
    if (first.kind === 'delete') return lsnOf((await item.delete({ abortSignal })).headers)
    const document = documentOf(first.id)
    if (first.kind === 'replace') {
      return lsnOf((await item.replace(document, { abortSignal })).headers)
    }
    return lsnOf((await this.#documents.items[first.kind](document, { abortSignal })).headers)
  }
}

function lsnOf(headers: Readonly<Record<string, unknown>> | undefined): number {
  const lsn = Number(headers?.['lsn'])
  if (!Number.isSafeInteger(lsn)) throw new Error('an answer to a write has no LSN')
  return lsn
}

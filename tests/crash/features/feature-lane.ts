import { effectivePartitionKey, partitionKeyDefinition } from '@tidemark/contracts'
import { generator } from '../lane.ts'

export type PlannedOperation =
  | {
      readonly kind: 'create' | 'upsert' | 'replace'
      readonly id: string
      readonly version: string
      /** Seconds, -1 = never, 0 = none of its own. */
      readonly ttl: number
    }
  | { readonly kind: 'delete'; readonly id: string }

const IDS_PER_LANE = 40
const BATCH_SHARE = 0.15
const MAX_BATCH = 5

/**
 * What one writer does, one operation after the other, on a partition key value of its own. What is there
 * depends on time, so that creates, replaces and deletes may be refused; batches never are.
 */
export class FeatureLane {
  readonly name: string
  readonly #chance: () => number
  readonly #prefix: string
  #next = 0

  constructor({
    seed,
    round,
    lane,
  }: {
    readonly seed: number
    readonly round: number
    readonly lane: number
  }) {
    this.name = laneName(lane)
    this.#chance = generator(seed * 1_000_003 + round * 1_009 + lane)
    this.#prefix = `${round}.${lane}`
  }

  next(): { readonly index: number; readonly operations: readonly PlannedOperation[] } {
    const index = this.#next++
    if (this.#chance() >= BATCH_SHARE) return { index, operations: [this.#single(index)] }
    const ids = new Set<string>()
    const count = 2 + Math.floor(this.#chance() * (MAX_BATCH - 1))
    while (ids.size < count) ids.add(this.#id())
    const operations = [...ids].map((id) => this.#put('upsert', id, index))
    return { index, operations }
  }

  #single(index: number): PlannedOperation {
    const id = this.#id()
    const chance = this.#chance()
    if (chance < 0.12) return { kind: 'delete', id }
    const kind = chance < 0.4 ? 'create' : chance < 0.6 ? 'replace' : 'upsert'
    return this.#put(kind, id, index)
  }

  #put(
    kind: 'create' | 'upsert' | 'replace',
    id: string,
    index: number,
  ): PlannedOperation & { readonly version: string } {
    return { kind, id, version: `${this.#prefix}.${index}.${id}`, ttl: this.#ttl() }
  }

  #id(): string {
    return `d${Math.floor(this.#chance() * IDS_PER_LANE)}`
  }

  #ttl(): number {
    const chance = this.#chance()
    if (chance < 0.4) return 0
    return chance < 0.5 ? -1 : 1 + Math.floor(this.#chance() * 3)
  }
}

export function laneName(lane: number): string {
  return `lane-${lane}`
}

const PARTITION_KEY = partitionKeyDefinition('/lane')

/** Where a lane's documents lie among the ranges. */
export function epkOfLane(name: string): string {
  return effectivePartitionKey([name], PARTITION_KEY)
}

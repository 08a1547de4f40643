/** Documents of one lane, id to version. A version names the operation that wrote it. */
export type LaneState = ReadonlyMap<string, string>

export type SingleOperation =
  | { readonly kind: 'create' | 'upsert' | 'replace'; readonly id: string }
  | { readonly kind: 'delete'; readonly id: string }

/** What a lane does next: one operation, or several in a transactional batch. */
export interface LaneOperation {
  /** Counts up from 0 in each round. */
  readonly index: number
  readonly operations: readonly SingleOperation[]
}

const IDS_PER_LANE = 12
const BATCH_SHARE = 0.2
const MAX_BATCH = 6

/**
 * One of many writers at once: its own partition key value, one operation after the other. What it does
 * follows from seed, round and lane alone, so that whoever knows how many of its operations were
 * acknowledged knows what must be in the store, and that at most the next one may be there too.
 */
export class Lane {
  readonly partitionKey: string
  readonly #round: number
  readonly #chance: () => number
  #state: LaneState
  #nextIndex = 0

  constructor(
    { seed, round, lane }: { readonly seed: number; readonly round: number; readonly lane: number },
    before: LaneState,
  ) {
    this.partitionKey = partitionKeyOfLane(lane)
    this.#round = round
    this.#chance = generator(seed * 1_000_003 + round * 1_009 + lane)
    this.#state = before
  }

  /** What is there when all operations taken so far are done. */
  get state(): LaneState {
    return this.#state
  }

  next(): LaneOperation {
    const index = this.#nextIndex++
    const count = this.#chance() < BATCH_SHARE ? 2 + Math.floor(this.#chance() * MAX_BATCH) : 1
    const ids = new Set<string>()
    while (ids.size < count) ids.add(`d${Math.floor(this.#chance() * IDS_PER_LANE)}`)
    const state = new Map(this.#state)
    const operations: SingleOperation[] = []
    for (const id of ids) {
      const kind = this.#kindFor(state.has(id))
      operations.push({ kind, id })
      if (kind === 'delete') state.delete(id)
      else state.set(id, versionOf(this.#round, index))
    }
    this.#state = state
    return { index, operations }
  }

  #kindFor(present: boolean): SingleOperation['kind'] {
    const chance = this.#chance()
    if (!present) return chance < 0.5 ? 'create' : 'upsert'
    if (chance < 0.25) return 'delete'
    return chance < 0.5 ? 'upsert' : 'replace'
  }
}

export function sameState(left: LaneState, right: LaneState): boolean {
  return left.size === right.size && [...left].every(([id, version]) => right.get(id) === version)
}

export function partitionKeyOfLane(lane: number): string {
  return `lane-${lane}`
}

export function versionOf(round: number, index: number): string {
  return `${round}.${index}`
}

/** Numbers in [0, 1) that depend on the seed alone (mulberry32). */
export function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

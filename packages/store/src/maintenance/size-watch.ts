import { errorCode } from '@tidemark/contracts'
import { splitRange } from '../catalog/change-ranges.ts'
import type { CollectionRecord, RangeRecord } from '../engine/catalog.ts'
import { rangeSplitEvent } from '../events/range-events.ts'
import type { DatabaseMaintenanceOptions } from './maintenance-options.ts'
import { isWorthMeasuring, type MeasuredRange } from './worth-measuring.ts'

export type SizeStep =
  | { readonly kind: 'sized'; readonly wasSplit: boolean; readonly tookLease: boolean }
  | { readonly kind: 'held'; readonly holder: string; readonly untilMs: number }
  /** No range is left to examine. */
  | { readonly kind: 'done' }

interface Candidate {
  readonly record: CollectionRecord
  readonly range: RangeRecord
  readonly splitAboveBytes: number
}

/** Ranges whose counter is read in one step. */
const LOOKS_OF_STEP = 100

/** Splits ranges that have outgrown their collection's `splitAboveBytes` (ST-9), a range at a time. */
export class SizeWatch {
  readonly #context: DatabaseMaintenanceOptions
  /** By collection number and range number; only present ranges. */
  readonly #measured = new Map<string, MeasuredRange>()
  #candidates: Candidate[] | undefined
  #isDue = false

  constructor(context: DatabaseMaintenanceOptions) {
    this.#context = context
  }

  get isDue(): boolean {
    return this.#isDue
  }

  begin(): void {
    this.#isDue = true
  }

  /** Examines ranges until one is measured, so that a step reads at most one range completely. */
  async step(): Promise<SizeStep> {
    this.#candidates ??= await this.#list()
    for (let looks = 0; looks < LOOKS_OF_STEP; looks++) {
      const candidate = this.#candidates.shift()
      if (candidate === undefined) {
        this.#candidates = undefined
        this.#isDue = false
        return { kind: 'done' }
      }
      try {
        const step = await this.#look(candidate)
        if (step !== undefined) return step
      } catch (error) {
        const code = errorCode(error)
        // Deleted or split by another process since it was listed.
        if (code !== 'ERR_NOT_FOUND' && code !== 'ERR_RANGE_GONE') throw error
      }
    }
    return { kind: 'sized', wasSplit: false, tookLease: false }
  }

  async #list(): Promise<Candidate[]> {
    const candidates: Candidate[] = []
    const { engine } = this.#context
    for (const record of await engine.listCollections()) {
      const { splitAboveBytes } = record.definition
      if (splitAboveBytes === null) continue
      for (const range of await engine.listRanges(record)) {
        candidates.push({ record, range, splitAboveBytes })
      }
    }
    const present = new Set(candidates.map(keyOf))
    for (const key of this.#measured.keys()) {
      if (!present.has(key)) this.#measured.delete(key)
    }
    return candidates
  }

  /** Undefined when the range cannot have grown enough since its last measurement. */
  async #look(candidate: Candidate): Promise<SizeStep | undefined> {
    const { engine, holder, options } = this.#context
    const { record, range, splitAboveBytes } = candidate
    const key = keyOf(candidate)
    const { lsn } = await engine.resolveStart({
      collection: record,
      range,
      start: { kind: 'now' },
      mode: 'latestVersion',
    })
    if (!isWorthMeasuring(this.#measured.get(key), { lsn, splitAboveBytes })) return undefined
    // Measuring reads the whole range, so only the store that does the other maintenance does it.
    const { leaseMs, maxItems } = options
    const taken = await engine.maintain({ holder, leaseMs, maxItems })
    if (taken.kind === 'held') return taken
    const { documents, bytes } = await engine.measureRange(record, range.number)
    this.#measured.set(key, { lsn, documents, bytes })
    const wasSplit = bytes > splitAboveBytes && (await this.#split(candidate))
    return { kind: 'sized', wasSplit, tookLease: true }
  }

  async #split({ record, range, splitAboveBytes }: Candidate): Promise<boolean> {
    const { engine, events, databaseId } = this.#context
    const rangeId = String(range.number)
    try {
      const children = await splitRange({ engine, record }, { rangeId })
      const event = rangeSplitEvent(
        { databaseId, id: record.id },
        { rangeId, children, cause: 'size' },
      )
      events.emit('rangeSplit', event)
      for (const child of children) {
        this.#candidates?.push({ record, range: child, splitAboveBytes })
      }
      return true
    } catch (error) {
      // One key has all the documents. The range is measured again when it has changed.
      if (errorCode(error) === 'ERR_RANGE_INDIVISIBLE') return false
      throw error
    }
  }
}

function keyOf({ record, range }: Candidate): string {
  return `${record.number} ${range.number}`
}

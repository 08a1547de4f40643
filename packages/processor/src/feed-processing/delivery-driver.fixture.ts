import assert from 'node:assert/strict'
import {
  lsn,
  type BatchAttempts,
  type Change,
  type DocumentBody,
  type PartitionKey,
} from '@tidemark/contracts'
import { deadLetterId } from '../dead-letters/dead-letter-of.ts'
import type { Piece, TriesOfPiece } from './bisection.ts'
import {
  DeliveryCore,
  type BatchSource,
  type DeliveryBatch,
  type DeliveryEvent,
  type DeliveryNote,
  type DeliveryStep,
} from './delivery-core.ts'
import type { EndStage } from './pump-ending.ts'
import type { FailurePolicy } from './pump-options.ts'

export const POLICY: FailurePolicy = {
  mode: 'deadLetter',
  maxAttempts: 3,
  maxConsecutiveDeadLetters: 100,
}
const NAMES = { group: 'group', feed: 'feed' }

/** Numbers of `count` changes, from `first` on; each is a transaction of its own. */
export function changes(count: number, first = 1): readonly Change[] {
  return Array.from({ length: count }, (_, index) => change(first + index))
}

export function change(n: number): Change {
  const partitionKey: PartitionKey = 'key'
  const document: DocumentBody = { id: `c${n}` }
  // The core looks at the names of a change, and at nothing in it.
  return { kind: 'document', id: `c${n}`, partitionKey, lsn: lsn(n), document } as Change
}

/** What is stored of `tries` that begin with the change `n`. */
export function attempts(n: number, tries: TriesOfPiece): BatchAttempts {
  return { ...tries, first: deadLetterId({ ...NAMES, change: change(n) }) }
}

/** What the observer, the lease store and the sink of a pump do. Each throws `DIED` to end the process. */
export interface World {
  /** Whether the observer accepts these changes. */
  accepts(changes: readonly Change[]): boolean
  /** An observer that takes one change after the other: which it accepts. */
  acceptsOne?(change: Change): boolean
  stores?(tries: BatchAttempts): boolean
  keeps?(change: Change): boolean
  end?(): EndStage
}

const MAX_STEPS = 10_000

export const DIED: Error = new Error('the process died')
export const FAILURE: Error = new Error('no')

/** Numbers of the changes of a step that were handed over, set aside, or named by what was stored. */
export type Trace = readonly [kind: string, ...numbers: readonly number[]]

/** A core and its loop, of which each wait is over at once. */
export class Driver {
  readonly core: DeliveryCore
  readonly world: World
  readonly traces: Trace[] = []
  readonly notes: DeliveryNote[] = []
  readonly steps: DeliveryStep[] = []
  /** With the lease. */
  stored: BatchAttempts | undefined

  constructor(
    world: World,
    {
      policy = POLICY,
      hasLanes = false,
      stored,
    }: { policy?: FailurePolicy; hasLanes?: boolean; stored?: BatchAttempts | undefined } = {},
  ) {
    this.world = world
    this.stored = stored
    this.core = new DeliveryCore({ policy, hasLanes, ...NAMES, attempts: stored })
  }

  deliver(source: BatchSource, given: readonly Change[]): 'done' | 'dealt' | 'ended' {
    const batch = this.core.batch(source, given)
    for (let event: DeliveryEvent = { kind: 'begin' }; ;) {
      const step = this.tell(batch, event)
      if (step.kind === 'over') {
        if (step.outcome === 'done' && source === 'page') this.stored = undefined
        return step.outcome
      }
      event = this.#perform(batch, step)
    }
  }

  /** Tells an event, and notes what follows. */
  tell(batch: DeliveryBatch, event: DeliveryEvent): DeliveryStep {
    const { notes, next } = this.core.handle(batch, event, this.world.end?.() ?? 'no')
    for (const note of notes) {
      this.notes.push(note)
      if (note.kind === 'withdraw') {
        const { from, tries } = note
        this.stored = tries && attempts(batch.changes[from]!.lsn, tries)
      }
    }
    this.steps.push(next)
    assert(this.steps.length < MAX_STEPS, 'no end')
    return next
  }

  /** Pieces that were handed over, as numbers of their first and last change, and of the try. */
  get calls(): readonly (readonly number[])[] {
    return this.traces.filter(([kind]) => kind === 'call').map(([, ...numbers]) => numbers)
  }

  get dead(): readonly number[] {
    return this.traces.filter(([kind]) => kind === 'setAside').map(([, n]) => n!)
  }

  get done(): readonly number[] {
    return this.traces.filter(([kind]) => kind === 'done').flatMap(([, ...numbers]) => numbers)
  }

  of<Kind extends DeliveryStep['kind']>(kind: Kind): Extract<DeliveryStep, { kind: Kind }>[] {
    return this.steps.filter(
      (step): step is Extract<DeliveryStep, { kind: Kind }> => step.kind === kind,
    )
  }

  #perform(batch: DeliveryBatch, step: Exclude<DeliveryStep, { kind: 'over' }>): DeliveryEvent {
    switch (step.kind) {
      case 'call':
        return this.#call(batch, step)
      case 'store':
        return { kind: 'stored', isStored: this.#store(batch, step.from, step.tries) }
      case 'setAside': {
        const put = batch.changes[step.from]!
        const isPut = this.world.keeps?.(put) ?? true
        if (isPut) this.traces.push(['setAside', put.lsn])
        return { kind: 'put', isPut }
      }
      case 'settle':
        return { kind: 'put', isPut: true }
      case 'pause':
        return { kind: 'rested' }
      case 'halt':
        // Nobody takes the lease away otherwise.
        this.world.end = () => 'now'
        return { kind: 'rested' }
    }
  }

  #call(
    batch: DeliveryBatch,
    { piece, tries }: { readonly piece: Piece; readonly tries: TriesOfPiece | undefined },
  ): DeliveryEvent {
    const { from, to, attempt } = piece
    if (tries !== undefined && !this.#store(batch, from, tries)) {
      return { kind: 'called', outcome: { kind: 'ended', begun: false, durationMs: 0 } }
    }
    const given = batch.changes.slice(from, to)
    this.traces.push(['call', given[0]!.lsn, given.at(-1)!.lsn, attempt])
    const refused = given.findIndex((one) => this.world.acceptsOne?.(one) === false)
    if (refused >= 0) {
      this.traces.push(['done', ...given.slice(0, refused).map((one) => Number(one.lsn))])
      const outcome = { kind: 'failed', error: FAILURE, durationMs: 1 } as const
      return { kind: 'called', outcome, accepted: refused, isFirst: true }
    }
    if (!this.world.accepts(given)) {
      return { kind: 'called', outcome: { kind: 'failed', error: FAILURE, durationMs: 1 } }
    }
    this.traces.push(['done', ...given.map((one) => Number(one.lsn))])
    return { kind: 'called', outcome: { kind: 'done', durationMs: 1 } }
  }

  #store(batch: DeliveryBatch, from: number, tries: TriesOfPiece): boolean {
    const now = attempts(batch.changes[from]!.lsn, tries)
    if (this.world.stores?.(now) === false) return false
    this.stored = now
    return true
  }
}

/** An observer that never accepts these changes. */
export function failsOn(...numbers: readonly number[]): World {
  const bad = new Set(numbers)
  return { accepts: (given) => !given.some((one) => bad.has(one.lsn)) }
}

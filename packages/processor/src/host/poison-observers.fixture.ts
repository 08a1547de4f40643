import assert from 'node:assert/strict'
import type { Change, ObserverContext } from '@tidemark/contracts'
import type { Delivery, FakeDocument, Fleet } from '@tidemark/testing'
import type { SeededRandom } from '@tidemark/testing/simulation'

const never = new AbortController().signal

/**
 * - `fails`: always. `falters`: the first few times.
 * - `kills`: the process that has it in hand dies.
 * - `hangs`: the first few times a call with it does not return, and ignores its abort.
 */
export type Poison = 'fails' | 'falters' | 'kills' | 'hangs'

interface PoisonedChange {
  readonly kind: Poison
  /** Times that are left for those that get better. */
  left: number
}

export interface PoisonObserversOptions {
  readonly fleet: Fleet
  readonly random: SeededRandom
  /** Calls at the same time that one lease may have. */
  readonly lanes: number
  /** Calls at the same time that one host may have. */
  readonly places: number
  readonly abortGraceMs: number
  readonly isManual: boolean
}

/** What the observers of a fleet do with poisoned and with other changes, and whether they were called as promised. */
export class PoisonObservers {
  readonly #options: PoisonObserversOptions
  readonly #poisoned = new Map<string, PoisonedChange>()
  #isCalm = false
  /** Calls that have not returned. */
  readonly #active = new Set<Delivery>()
  /** When the signal of a call that has not returned was aborted. */
  readonly #abortedMs = new Map<Delivery, number>()
  /** Changes that an observer told its host to store the position of. */
  readonly vouchedFor: Set<string> = new Set()
  readonly redriven: Set<Delivery> = new Set()
  /** In which the process died. */
  readonly killed: Set<Delivery> = new Set()
  happened: Record<Poison, number> = { fails: 0, falters: 0, kills: 0, hangs: 0 }

  constructor(options: PoisonObserversOptions) {
    this.#options = options
  }

  poison(id: string, kind: Poison): void {
    this.#poisoned.set(id, { kind, left: 1 + this.#options.random.below(6) })
  }

  isPoisoned(id: string): boolean {
    return this.#poisoned.has(id)
  }

  /** From now on nothing ends a process, and nothing hangs; `isHealed`: nothing fails either. */
  calm({ isHealed }: { readonly isHealed: boolean }): void {
    this.#isCalm = true
    for (const [id, { kind }] of this.#poisoned) {
      if (isHealed || kind === 'falters' || kind === 'hangs') this.#poisoned.delete(id)
      else this.#poisoned.set(id, { kind: 'fails', left: 0 })
    }
  }

  async process(context: ObserverContext, changes: readonly Change<FakeDocument>[]): Promise<void> {
    const { fleet, random, isManual } = this.#options
    const delivery = fleet.deliveries.at(-1)!
    assert.equal(delivery.changes, changes)
    if (context.redriven) this.redriven.add(delivery)
    this.#assertMayBegin(delivery)
    this.#active.add(delivery)
    const onAbort = (): void => void this.#abortedMs.set(delivery, fleet.clock.monotonicMs())
    context.signal.addEventListener('abort', onAbort, { once: true })
    try {
      await this.#suffer(context, changes)
      await fleet.clock.sleep(random.below(40), never)
      if (random.chance(isManual ? 0.6 : 0.05) && !context.redriven) {
        for (const { id } of changes) this.vouchedFor.add(id)
        await context.checkpoint()
      }
    } finally {
      this.#active.delete(delivery)
      this.#abortedMs.delete(delivery)
      context.signal.removeEventListener('abort', onAbort)
    }
  }

  async #suffer(
    { signal }: ObserverContext,
    changes: readonly Change<FakeDocument>[],
  ): Promise<void> {
    const { fleet, random } = this.#options
    const delivery = fleet.deliveries.at(-1)!
    for (const { id } of changes) {
      const poison = this.#poisoned.get(id)
      if (poison === undefined) continue
      this.happened[poison.kind] += 1
      poison.left -= 1
      if (poison.kind !== 'fails' && poison.kind !== 'kills' && poison.left <= 0) {
        this.#poisoned.delete(id)
      }
      switch (poison.kind) {
        case 'fails':
        case 'falters':
          await fleet.clock.sleep(random.below(20), never)
          throw new Error(`poison ${id}`)
        case 'kills':
          fleet.kill(delivery.member)
          this.killed.add(delivery)
          await new Promise<never>(() => {})
          break
        case 'hangs':
          if (random.chance(0.5)) await fleet.clock.sleep(1_000_000, signal)
          else await new Promise<never>(() => {})
      }
    }
    if (!this.#isCalm && random.chance(0.03)) throw new Error('bad luck')
  }

  #assertMayBegin(delivery: Delivery): void {
    const { fleet, lanes, places, abortGraceMs } = this.#options
    const { member, leaseId, epoch } = delivery
    const keys = new Set(delivery.changes.map(({ partitionKey }) => JSON.stringify(partitionKey)))
    let ofLease = 1
    let ofHost = 1
    for (const other of this.#active) {
      if (other.member !== member || member.gate.isFrozen) continue
      const abortedMs = this.#abortedMs.get(other)
      const isGivenUp =
        abortedMs !== undefined && fleet.clock.monotonicMs() >= abortedMs + abortGraceMs
      if (!isGivenUp) ofHost += 1
      if (other.leaseId !== leaseId || other.epoch !== epoch) continue
      ofLease += 1
      const same = other.changes.some(({ partitionKey }) => keys.has(JSON.stringify(partitionKey)))
      assert(!same, `two calls of one key at the same time: ${[...keys].join()}`)
    }
    assert(ofLease <= lanes, `${ofLease} calls of one lease, ${lanes} lanes`)
    assert(ofHost <= places, `${ofHost} calls of one host, ${places} places`)
  }
}

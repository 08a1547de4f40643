import type { DocumentBody } from '@tidemark/contracts'
import { SeededRandom } from '../time/seeded-random.ts'
import type { VirtualTime } from '../time/virtual-time.ts'
import type { Member } from './member.ts'
import type { ObserverCosts } from './observer-costs.ts'
import type { SimulatedChange } from './simulated-feed.ts'
import type { Delivery } from './world-events.ts'

interface Slowness {
  readonly upToMs: number
  readonly deaf: boolean
  readonly endMs: number
}

const never = new AbortController().signal

/** What observers do besides their work: take their time, throw, hang. */
export class ObserverBehaviour {
  readonly #time: VirtualTime
  readonly #random: SeededRandom
  readonly #costs: ObserverCosts | undefined
  readonly #slow = new Map<Member, Slowness>()
  readonly #hanging = new Map<Member, { readonly deaf: boolean }>()
  readonly #released = new Set<() => void>()
  readonly #poison = new Set<SimulatedChange<DocumentBody>>()
  #throws = 0
  #isHealed = false

  /** Without costs, calls take some ms by chance. */
  constructor(time: VirtualTime, seed: number, costs: ObserverCosts | undefined) {
    this.#time = time
    this.#costs = costs
    this.#random = SeededRandom.stream(seed, 2)
  }

  throwNext(count: number): void {
    this.#throws += count
  }

  poison(change: SimulatedChange<DocumentBody>): void {
    this.#poison.add(change)
  }

  slowDown(
    member: Member,
    { upToMs, deaf, forMs }: { upToMs: number; deaf: boolean; forMs: number },
  ): void {
    this.#slow.set(member, { upToMs, deaf, endMs: this.#time.nowMs + forMs })
  }

  hangNext(member: Member, how: { readonly deaf: boolean }): void {
    if (!this.#isHealed) this.#hanging.set(member, how)
  }

  heal(): void {
    this.#isHealed = true
    this.#throws = 0
    this.#poison.clear()
    this.#slow.clear()
    this.#hanging.clear()
    for (const release of this.#released) release()
    this.#released.clear()
  }

  /**
   * Behaves, and does the observer's work, if any. Rejects when the observer is to throw, with its work done or not, when it
   * was aborted, or when the work does.
   */
  async behave({ member, context, changes }: Delivery, work?: () => Promise<void>): Promise<void> {
    const { process } = member
    const hang = this.#hanging.get(member)
    if (hang !== undefined) {
      this.#hanging.delete(member)
      await this.#hang(member, hang.deaf ? never : context.signal)
    }
    const slowness = this.#slow.get(member)
    const isSlow = slowness !== undefined && slowness.endMs > this.#time.nowMs
    const workMs = isSlow
      ? this.#random.fraction() * slowness.upToMs
      : (this.#costs?.ofAll(changes) ?? 20 * this.#random.fraction() ** 2)
    await process.sleep(workMs, isSlow && slowness.deaf ? never : context.signal)
    if (this.#throws > 0) {
      this.#throws -= 1
      if (work !== undefined && this.#random.chance(0.5)) await work()
      throw new Error('the observer threw')
    }
    if (changes.some((change) => this.#poison.has(change))) {
      throw new Error('the observer cannot take this change')
    }
    await work?.()
  }

  #hang({ process }: Member, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const release = (): void => process.enter(resolve)
      this.#released.add(release)
      signal.addEventListener(
        'abort',
        () => {
          this.#released.delete(release)
          reject(signal.reason)
        },
        { once: true },
      )
    })
  }
}

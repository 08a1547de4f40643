import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Delivery, Outcome, SessionHold } from '../message-commands.ts'
import { copyFor, TestedMessages, type Entity } from './tested-messages.fixture.ts'

type Step =
  | {
      readonly kind: 'send'
      readonly to: number
      readonly count: number
      readonly session: string
      readonly ttlMs: number | undefined
      readonly delayMs: number | undefined
    }
  | { readonly kind: 'receive'; readonly from: number; readonly max: number }
  | { readonly kind: 'hold'; readonly session: string | undefined }
  | { readonly kind: 'release' }
  | {
      readonly kind: 'settle'
      readonly outcome: Outcome['kind']
      /** Which of those that were delivered, also long ago. */
      readonly at: number
    }
  | { readonly kind: 'receiveDeferred'; readonly from: number }
  | { readonly kind: 'apply'; readonly to: number }
  | { readonly kind: 'wait'; readonly ms: number }

const session = fc.constantFrom('A', 'B', 'C')
const soonMs = fc.option(fc.integer({ min: 1, max: 3000 }), { nil: undefined })
const entityAt = fc.integer({ min: 0, max: 3 })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('send' as const),
    to: entityAt,
    count: fc.integer({ min: 1, max: 3 }),
    session,
    ttlMs: soonMs,
    delayMs: soonMs,
  }),
  fc.record({
    kind: fc.constant('receive' as const),
    from: entityAt,
    max: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({
    kind: fc.constant('hold' as const),
    session: fc.option(session, { nil: undefined }),
  }),
  fc.constant({ kind: 'release' as const }),
  fc.record({
    kind: fc.constant('settle' as const),
    outcome: fc.constantFrom(
      ...(['complete', 'abandon', 'defer', 'deadLetter', 'release'] as const),
    ),
    at: fc.nat({ max: 30 }),
  }),
  fc.record({ kind: fc.constant('receiveDeferred' as const), from: entityAt }),
  fc.record({ kind: fc.constant('apply' as const), to: entityAt }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 2500 }) }),
)

/** Carries out steps, and knows of each message whether it may still be somewhere. */
class Ledger {
  readonly #messages: TestedMessages
  readonly #entities: readonly Entity[]
  readonly #topic: Entity
  readonly #sent = new Set<string>()
  readonly #completed = new Set<string>()
  readonly #delivered: { readonly delivery: Delivery; readonly entity: Entity }[] = []
  #hold: SessionHold | undefined
  #count = 0

  private constructor(messages: TestedMessages, topic: Entity, entities: readonly Entity[]) {
    this.#messages = messages
    this.#topic = topic
    this.#entities = entities
  }

  /** A queue, a queue with sessions, a subscription, and the dead-letter queue of the first. */
  static async open(messages: TestedMessages): Promise<Ledger> {
    const settings = { lockDurationMs: 1500, maxDeliveryCount: 3, deadLettersExpired: true }
    const queue = await messages.queue('q', settings)
    const sessions = await messages.queue('s', { ...settings, requiresSession: true })
    const topic = await messages.topic('t')
    const subscription = await messages.subscription('t', 'all', settings)
    const dead = await queue.deadLetters()
    return new Ledger(messages, topic, [queue, sessions, subscription, dead])
  }

  async take(taken: Step): Promise<void> {
    switch (taken.kind) {
      case 'send':
        return this.#send(taken)
      case 'receive': {
        const [entity, hold] = this.#receiver(taken.from)
        if (entity === undefined) return
        const received = await entity.receive(taken.max, hold)
        for (const delivery of received) this.#delivered.push({ delivery, entity })
        return
      }
      case 'hold': {
        const wanted = taken.session === undefined ? { after: '' } : { named: taken.session }
        const hold = await this.#entities[1]?.accept(wanted)
        if (typeof hold === 'object') this.#hold = hold
        return
      }
      case 'release': {
        const hold = this.#hold
        if (hold === undefined) return
        const on = { entity: this.#entities[1]?.number ?? 0, touch: false }
        await this.#messages.perform<'releaseSession'>({ kind: 'releaseSession', ...on, hold })
        this.#hold = undefined
        return
      }
      case 'settle':
        return this.#settle(taken.at, taken.outcome)
      case 'receiveDeferred':
        return this.#receiveDeferred(taken.from)
      case 'apply':
        return this.#entities[taken.to]?.applyDue(taken.to === 3 ? 'nobody' : 'everything')
      case 'wait':
        return this.#messages.wait(taken.ms)
    }
  }

  async #send({
    to,
    count,
    session: name,
    ttlMs,
    delayMs,
  }: Step & { kind: 'send' }): Promise<void> {
    const entity = to === 2 ? this.#topic : this.#entities[to]
    const scheduledMs =
      delayMs === undefined || to === 2 ? undefined : this.#messages.engine.nowMs() + delayMs
    const given = Array.from({ length: count }, () => {
      this.#count += 1
      const [, , subscription] = this.#entities
      const copies = to === 2 && subscription !== undefined ? [copyFor(subscription)] : []
      return { messageId: `m${this.#count}`, session: name, ttlMs, scheduledMs, copies }
    })
    const answer = await entity?.send(...given)
    // Nobody sends to a dead-letter queue.
    if (typeof answer === 'string') expect([to, answer]).toEqual([3, 'notAllowed'])
    else for (const { messageId } of given) this.#sent.add(messageId)
  }

  #receiver(at: number): readonly [Entity | undefined, SessionHold | undefined] {
    if (at !== 1) return [this.#entities[at], undefined]
    const hold = this.#hold
    // The hold may have ended: then this is refused.
    this.#hold = undefined
    return hold === undefined ? [undefined, undefined] : [this.#entities[1], hold]
  }

  async #settle(at: number, outcome: Outcome['kind']): Promise<void> {
    const one = this.#delivered[at % Math.max(1, this.#delivered.length)]
    if (one === undefined) return
    const { head } = one.delivery.message
    const [answer] = await one.entity.settle(outcome, one.delivery)
    // What was completed is nowhere any more, so nobody can settle it again.
    if (this.#completed.has(head)) expect(answer).not.toBe('settled')
    if (answer === 'settled' && outcome === 'complete') this.#completed.add(head)
  }

  async #receiveDeferred(from: number): Promise<void> {
    const entity = this.#entities[from]
    if (entity === undefined || from === 1) return
    const deferred = (await entity.peekMessages()).find(({ state }) => state === 1)
    const received = deferred && (await entity.receiveDeferred([deferred.number]))
    if (typeof received === 'string' || received === undefined) return
    for (const delivery of received) this.#delivered.push({ delivery, entity })
  }

  /** Every message that was sent and not completed is in exactly one place. */
  async check(): Promise<void> {
    const found: string[] = []
    const letters = this.#entities.slice(0, 3).map((entity) => entity.deadLetters())
    for (const entity of [...this.#entities.slice(0, 3), ...(await Promise.all(letters))]) {
      const there = await entity.peekMessages()
      const numbers = there.map(({ number }) => number)
      expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
      found.push(...there.map(({ head }) => head))
      const counted = await this.#messages.perform<'count'>({ kind: 'count', ...entity.on })
      const bytes = there.reduce((sum, one) => sum + one.bytes, 0)
      expect('counts' in counted && counted.counts.bytes).toBe(bytes)
    }
    const expected = [...this.#sent].filter((head) => !this.#completed.has(head))
    expect(found.sort()).toEqual(expected.sort())
  }
}

test('EXP-18 whatever happens, a message is in exactly one place until it is completed', async () => {
  const steps = fc.array(step, { minLength: 5, maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(steps, async (given) => {
      await using messages = await TestedMessages.open()
      const ledger = await Ledger.open(messages)
      for (const one of given) {
        try {
          await ledger.take(one)
        } catch (error) {
          if (!(error instanceof Error && error.message === 'sessionLockLost')) throw error
        }
      }
      await ledger.check()
      // At the end of all locks and schedules, it still holds.
      await messages.wait(10_000)
      await ledger.check()
    }),
    { seed: 15, numRuns: 150 },
  )
})

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MessageBroker } from '@tidemark/messaging'
import { CampaignProcess } from '../campaign/campaign-process.ts'
import { generator } from '../crash/lane.ts'
import type { StorePlace } from '../crash/store-place.ts'
import { readConsumptionJournal } from './consumption-journal.ts'
import { CARTS, LOCK_MS, openBroker, WORK } from './entities.ts'
import { judgeConsumption, type ConsumptionVerdict } from './judge-consumption.ts'
import type { ConsumerMessage } from './messages.ts'

const SESSIONS = 40
const BATCH = 100
const MIN_PAUSE_MS = 100
const MAX_PAUSE_MS = 500
const STOPPED_MS = 2 * LOCK_MS
/** Without a message completed for so long, the run has failed. */
const PATIENCE_MS = 60_000
/** Of kills, and of stops. */
const MIN_FAULTS = 3

export interface CompetingResult extends ConsumptionVerdict {
  readonly kills: number
  readonly stops: number
  readonly seconds: number
}

/**
 * Consumers in processes of their own compete for messages, some in sessions. Meanwhile processes are killed and
 * replaced, or stopped for longer than their locks last. Ends when all messages are gone. Rejects when it shows nothing.
 */
export async function runCompeting({
  folder,
  place,
  seed,
  messages,
  processes,
}: {
  /** For journals. */
  readonly folder: string
  readonly place: StorePlace
  readonly seed: number
  readonly messages: number
  readonly processes: number
}): Promise<CompetingResult> {
  await using store = await openBroker(place)
  const { broker } = store
  await createQueues(broker)
  const sent = await send(broker, messages)
  const crowd = new Crowd({ folder, place, seed })
  const chance = generator(seed)
  const beganMs = performance.now()
  let [kills, stops] = [0, 0]
  try {
    for (let index = 0; index < processes; index++) await crowd.start()
    let progress = { left: Infinity, atMs: performance.now() }
    for (;;) {
      await sleep(MIN_PAUSE_MS + chance() * (MAX_PAUSE_MS - MIN_PAUSE_MS))
      crowd.assertAlive()
      const left = await messagesLeft(broker)
      if (left < progress.left) progress = { left, atMs: performance.now() }
      if (performance.now() - progress.atMs > PATIENCE_MS) {
        throw new Error(`${left} messages are left, and none was completed for a minute`)
      }
      if (left === 0 && kills >= MIN_FAULTS && stops >= MIN_FAULTS) break
      if (left === 0) for (const id of await send(broker, BATCH, sent.size)) sent.add(id)
      if (kills <= stops) {
        await crowd.killOne(chance())
        kills++
      } else {
        await crowd.stopOne(chance())
        stops++
      }
    }
  } finally {
    await crowd.end()
  }
  const seconds = Math.round((performance.now() - beganMs) / 1000)
  const lines = crowd.journals.flatMap(readConsumptionJournal)
  const verdict = judgeConsumption(sent, lines, { killed: kills })
  for (const deed of ['abandoned', 'left', 'lost', 'redelivered'] as const) {
    if (verdict.counts[deed] === 0) throw new Error(`nothing was shown: 0 ${deed}`)
  }
  const faults = [...verdict.faults, ...(await store.check())]
  return { ...verdict, faults, kills, stops, seconds }
}

async function createQueues(broker: MessageBroker): Promise<void> {
  const options = { lockDuration: LOCK_MS, maxDeliveryCount: 1_000_000 }
  await broker.createQueue(WORK, options)
  await broker.createQueue(CARTS, { ...options, requiresSession: true })
}

/** Four fifths without sessions. */
async function send(broker: MessageBroker, count: number, from = 0): Promise<Set<string>> {
  const ids = new Set<string>()
  await using work = broker.createSender(WORK)
  await using carts = broker.createSender(CARTS)
  for (let at = from; at < from + count; at += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, from + count - at) }, (_, n) => at + n)
    const plain = numbers.filter((n) => n % 5 !== 0)
    const inSessions = numbers.filter((n) => n % 5 === 0)
    await work.sendMessages(plain.map((n) => ({ messageId: `m${n}`, body: { n } })))
    await carts.sendMessages(
      inSessions.map((n) => ({
        messageId: `m${n}`,
        sessionId: `s${(n / 5) % SESSIONS}`,
        body: { n },
      })),
    )
    for (const n of numbers) ids.add(`m${n}`)
  }
  return ids
}

async function messagesLeft(broker: MessageBroker): Promise<number> {
  const [work, carts] = await Promise.all([
    broker.getQueueRuntimeProperties(WORK),
    broker.getQueueRuntimeProperties(CARTS),
  ])
  return work.totalMessageCount + carts.totalMessageCount
}

/** The consuming processes. */
class Crowd {
  readonly journals: string[] = []
  readonly #task: { readonly folder: string; readonly place: StorePlace; readonly seed: number }
  readonly #members: CampaignProcess<ConsumerMessage>[] = []

  constructor(task: { folder: string; place: StorePlace; seed: number }) {
    this.#task = task
  }

  async start(): Promise<void> {
    const { folder, place, seed } = this.#task
    const journal = join(folder, `consumer-${this.journals.length}.log`)
    const task = { place, seed: seed * 1_000 + this.journals.length, journal }
    this.journals.push(journal)
    const member = new CampaignProcess<ConsumerMessage>(
      new URL('consumer.child.ts', import.meta.url),
      task,
    )
    this.#members.push(member)
    await member.receive('consuming')
  }

  async killOne(fraction: number): Promise<void> {
    const [member] = this.#members.splice(Math.floor(fraction * this.#members.length), 1)
    await member?.kill()
    await this.start()
  }

  async stopOne(fraction: number): Promise<void> {
    const member = this.#members[Math.floor(fraction * this.#members.length)]
    member?.pause()
    await sleep(STOPPED_MS)
    member?.resume()
  }

  /** Throws when a process ended by itself. */
  assertAlive(): void {
    for (const member of this.#members) member.assertAlive()
  }

  async end(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.end()))
  }
}

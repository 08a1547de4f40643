import type { MessageBroker } from '@tidemark/messaging'
import { latenciesOfPaced } from '../../measuring/paced-calls.ts'
import type { Measure, PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { ShiftedClock } from '@tidemark/testing'
import { quantile } from '../../measuring/statistics.ts'
import { machineMs } from '../../measuring/stopwatch.ts'
import { figureName, Ground, type GroundEngine } from '../ground.ts'
import { openBenchBroker, OwnQueue } from '../open-broker.ts'
import { fillWith } from '../queue-rates.ts'

const EXPIRING = 100_000
const TTL_MS = 3_600_000
const CALLS_PER_SECOND = 200
const DEAD_LETTERED_AT_ONCE = 1_000
/** Part of the messages that a receiver dead-letters for comparison. */
const BY_HAND = 1 / 10
const QUEUE = 'expiring'

/** Messages that expire all at once into the dead-letter queue, and whom that disturbs. */
export function expiringScenario(engine: GroundEngine): Scenario {
  const sweep = figureName(engine, 'expiring.sweep')
  const p99 = figureName(engine, 'expiring.foreground.p99')
  const measures: readonly Measure[] = [
    {
      name: sweep,
      unit: 'messages/s',
      rawIs: 'a receiver that dead-letters messages, 1,000 at a time',
    },
    {
      name: p99,
      unit: 'ms',
      rawIs: 'the same without expiries; trips in another queue, from when they were due',
    },
  ]
  return {
    name: `${engine === 'postgres' ? 'postgres-' : ''}messages-expiring`,
    measures,
    async prepare({ folder, manyDocuments }): Promise<PreparedScenario> {
      // Fewer to warm up.
      const countFor = (seconds: number): number =>
        Math.ceil(Math.min(EXPIRING, manyDocuments) * Math.min(1, seconds))
      const stack = new AsyncDisposableStack()
      const ground = stack.use(await Ground.of(engine, folder))
      const clock = new ShiftedClock()
      const { broker } = stack.use(await openBenchBroker(await ground.newPlace(), { clock }))
      const expiring = await OwnQueue.create(broker, QUEUE, {
        deadLetteringOnMessageExpiration: true,
      })
      const other = await OwnQueue.create(broker, 'other')
      return {
        async ours(seconds) {
          const count = countFor(seconds)
          await fillWith((some) => expiring.sendExpiring(some, TTL_MS), count)
          const before = await deadLetters(broker)
          clock.step(2 * TTL_MS)
          const swept = new Sweep(expiring)
          const foreground = await p99OfTrips(other, () => swept.isOver)
          const dead = (await deadLetters(broker)) - before
          if (dead !== count) throw new Error(`${dead} of ${count} have expired`)
          return { [sweep]: perSecond(count, await swept.ms), [p99]: foreground }
        },
        async raw(seconds) {
          const count = Math.ceil(countFor(seconds) * BY_HAND)
          const end = machineMs() + seconds * 1000
          const foreground = await p99OfTrips(other, () => machineMs() > end)
          await fillWith((some) => expiring.send(some), count)
          const started = machineMs()
          for (let done = 0; done < count;) {
            done += await expiring.deadLetter(DEAD_LETTERED_AT_ONCE)
          }
          return { [sweep]: perSecond(count, machineMs() - started), [p99]: foreground }
        },
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      }
    },
  }
}

/** Whoever receives makes what has expired leave first, and gets what is left: nothing. */
class Sweep {
  isOver = false
  readonly ms: Promise<number>

  constructor(queue: OwnQueue) {
    this.ms = this.#run(queue)
  }

  async #run(queue: OwnQueue): Promise<number> {
    const started = machineMs()
    try {
      const taken = await queue.take(1)
      if (taken > 0) throw new Error('a message has not expired')
      return machineMs() - started
    } finally {
      this.isOver = true
    }
  }
}

/** Of a message that is sent, received and completed, from when it was due. */
async function p99OfTrips(queue: OwnQueue, isOver: () => boolean): Promise<number> {
  const { trip } = await latenciesOfPaced(
    {
      trip: async () => {
        await queue.send(1)
        while ((await queue.take(1)) === 0);
      },
    },
    { perSecond: CALLS_PER_SECOND, isOver },
  )
  return quantile(trip, 0.99)
}

function perSecond(count: number, ms: number): number {
  return (count / ms) * 1000
}

async function deadLetters(broker: MessageBroker): Promise<number> {
  return (await broker.getQueueRuntimeProperties(QUEUE)).deadLetterMessageCount
}

import type { Measure, PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { ShiftedClock } from '@tidemark/testing'
import { machineMs } from '../../measuring/stopwatch.ts'
import { figureName, Ground, type GroundEngine } from '../ground.ts'
import { openBenchBroker, OwnQueue } from '../open-broker.ts'
import { fillWith, RatesOfCalls } from '../queue-rates.ts'

const HOUR_SECONDS = 3_600
/** The heap is due in so many hours, a part in each. A measurement makes one of them come. */
const HOURS = 20
const CALLERS = 16
const TAKEN_AT_ONCE = 1_000

/** Very many scheduled messages: how fast they are stored and enqueued, and whether others notice them. */
export function scheduledScenario(engine: GroundEngine): Scenario {
  const name = (what: string): string => figureName(engine, `scheduled.${what}`)
  const measures: readonly Measure[] = [
    { name: name('schedule'), unit: 'messages/s', rawIs: 'sent at once instead' },
    {
      name: name('beside'),
      unit: 'messages/s',
      rawIs: 'trips of 16 callers in a queue without scheduled messages',
    },
    {
      name: name('activate'),
      unit: 'messages/s',
      rawIs: 'received only: the same messages, never scheduled',
    },
  ]
  return {
    name: `${engine === 'postgres' ? 'postgres-' : ''}messages-scheduled`,
    measures,
    async prepare({ folder, manyDocuments }): Promise<PreparedScenario> {
      const stack = new AsyncDisposableStack()
      const ground = stack.use(await Ground.of(engine, folder))
      const clock = new ShiftedClock()
      const { broker } = stack.use(await openBenchBroker(await ground.newPlace(), { clock }))
      const heap = await OwnQueue.create(broker, 'scheduled')
      const plain = await OwnQueue.create(broker, 'plain')
      const started = clock.wallMs()
      const part = Math.ceil(manyDocuments / HOURS)
      const dueAt = (hour: number): Date => new Date(started + hour * HOUR_SECONDS * 1000)
      const beganMs = machineMs()
      for (let hour = 1; hour <= HOURS; hour++) {
        await fillWith((count) => heap.schedule(count, dueAt(hour)), part)
      }
      const schedulePerSecond = ((part * HOURS) / (machineMs() - beganMs)) * 1000
      let hours = 0
      return {
        async ours(seconds) {
          const load = { callers: CALLERS, batch: 1, seconds: seconds / 2 }
          const beside = await new RatesOfCalls(heap).trips(load)
          if (++hours > HOURS) {
            hours = HOURS + 1
            await fillWith((count) => heap.send(count), part)
          }
          clock.step(1000 * HOUR_SECONDS)
          return {
            [name('schedule')]: schedulePerSecond,
            [name('beside')]: beside,
            [name('activate')]: await drain(heap, part),
          }
        },
        async raw(seconds) {
          const load = { callers: CALLERS, batch: 1, seconds: seconds / 2 }
          const trips = await new RatesOfCalls(plain).trips(load)
          const sending = machineMs()
          await fillWith((count) => plain.send(count), part)
          const sendPerSecond = (part / (machineMs() - sending)) * 1000
          return {
            [name('schedule')]: sendPerSecond,
            [name('beside')]: trips,
            [name('activate')]: await drain(plain, part),
          }
        },
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      }
    },
  }
}

/** Receives and completes exactly `count` messages. */
async function drain(queue: OwnQueue, count: number): Promise<number> {
  const started = machineMs()
  for (let taken = 0; taken < count;) {
    const some = await queue.take(TAKEN_AT_ONCE)
    if (some === 0) throw new Error(`only ${taken} of ${count} messages came`)
    taken += some
  }
  return (count / (machineMs() - started)) * 1000
}

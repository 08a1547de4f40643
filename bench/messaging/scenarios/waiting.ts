import { DOCUMENT_BYTES } from '../../data/order-document.ts'
import { BenchChild } from '../../measuring/child-process.ts'
import type { Figures, Measure, PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { median } from '../../measuring/statistics.ts'
import { machineMs } from '../../measuring/stopwatch.ts'
import type { MemoryReply, MemoryRequest } from '../children/waiting-memory.child.ts'
import { figureName, Ground, type GroundEngine } from '../ground.ts'
import { openBenchBroker, OwnQueue } from '../open-broker.ts'
import { fillWith } from '../queue-rates.ts'

const FEW = 100
const LOCKED = 100_000
const LOCKED_AT_ONCE = 1_000
/** Received and completed by one call each. */
const BATCHES = ['single', 'batch100'] as const

/** What a receive costs, however many messages wait, and in front of it however many are locked. */
export function waitingScenario(engine: GroundEngine): Scenario {
  const name = (what: string): string => figureName(engine, `waiting.${what}`)
  return {
    name: `${engine === 'postgres' ? 'postgres-' : ''}messages-waiting`,
    measures: measures(name),
    async prepare({ folder, manyDocuments }): Promise<PreparedScenario> {
      const stack = new AsyncDisposableStack()
      const ground = stack.use(await Ground.of(engine, folder))
      const place = await ground.newPlace()
      const { broker } = stack.use(await openBenchBroker(place))
      const few = await OwnQueue.create(broker, 'few')
      const many = await OwnQueue.create(broker, 'many')
      const locked = await OwnQueue.create(broker, 'locked')
      await few.send(FEW)
      await fillWith((count) => many.send(count), manyDocuments)
      await fillAndLock(locked, Math.min(LOCKED, Math.ceil(manyDocuments / 10)))
      const small = await ground.newPlace()
      await makeSmall(small)
      let costsOfFew: Readonly<Record<string, number>> = {}
      return {
        async ours(seconds) {
          const single = await msOfTakes([few, many, locked], { batch: 1, seconds: seconds / 2 })
          const batches = await msOfTakes([few, many, locked], { batch: 100, seconds: seconds / 2 })
          // In turns with the others, call by call, because a disk varies by more than what is to be seen.
          costsOfFew = { single: single[0] ?? 0, batch100: batches[0] ?? 0 }
          return {
            [name('many.single')]: single[1] ?? 0,
            [name('many.batch100')]: batches[1] ?? 0,
            [name('behindLocked.single')]: single[2] ?? 0,
            [name('behindLocked.batch100')]: batches[2] ?? 0,
            [name('rssMiB')]: await rssBeside(place, 'many'),
          }
        },
        async raw() {
          return {
            ...named((batch) => name(`many.${batch}`), costsOfFew),
            ...named((batch) => name(`behindLocked.${batch}`), costsOfFew),
            [name('rssMiB')]: await rssBeside(small, 'few'),
          }
        },
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      }
    },
  }
}

function measures(name: (what: string) => string): readonly Measure[] {
  const costs = ['many', 'behindLocked'].flatMap((what) =>
    BATCHES.map((batch): Measure => ({
      name: name(`${what}.${batch}`),
      unit: 'ms',
      rawIs: `our own with ${FEW} waiting`,
      goal: { of: 'ratio', is: 'atMost', limit: 1.2 },
    })),
  )
  const rawIs = `the same process on a store with ${FEW} messages of ${DOCUMENT_BYTES} bytes`
  return [...costs, { name: name('rssMiB'), unit: 'MiB', rawIs }]
}

function named(name: (batch: string) => string, costs: Readonly<Record<string, number>>): Figures {
  return Object.fromEntries(Object.entries(costs).map(([batch, ms]) => [name(batch), ms]))
}

/** A hundred wait behind those that are locked. */
async function fillAndLock(queue: OwnQueue, count: number): Promise<void> {
  await fillWith((some) => queue.send(some), count)
  for (let locked = 0; locked < count;) {
    locked += await queue.lock(Math.min(LOCKED_AT_ONCE, count - locked))
  }
  await queue.send(FEW)
}

async function makeSmall(place: string): Promise<void> {
  await using opened = await openBenchBroker(place)
  const queue = await OwnQueue.create(opened.broker, 'few')
  await queue.send(FEW)
}

/** Of a process of its own, so that its memory is a broker's alone. */
async function rssBeside(place: string, queue: string): Promise<number> {
  await using child = await BenchChild.start<MemoryRequest, MemoryReply>(
    new URL('../children/waiting-memory.child.ts', import.meta.url),
  )
  const { rssMiB } = await child.call({ place, queue })
  return rssMiB
}

/**
 * The median time of one call that receives, with what completes it: of each queue, in turns. As many messages are sent
 * again, outside of the time.
 */
export async function msOfTakes(
  queues: readonly OwnQueue[],
  { batch, seconds }: { readonly batch: number; readonly seconds: number },
): Promise<readonly number[]> {
  const times: number[][] = queues.map(() => [])
  const end = machineMs() + seconds * 1000
  do {
    for (const [place, queue] of queues.entries()) {
      const started = machineMs()
      const taken = await queue.take(batch)
      times[place]?.push(machineMs() - started)
      if (taken !== batch) throw new Error(`${taken} instead of ${batch} messages came`)
      await queue.send(batch)
    }
  } while (machineMs() < end)
  return times.map((ones) => median(ones))
}

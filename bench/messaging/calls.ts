import type { Figures, PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { CONNECTIONS, Ground, type GroundEngine } from './ground.ts'
import { openBenchBroker, OwnQueue } from './open-broker.ts'
import { RatesOfCalls, type Load, type QueueRates } from './queue-rates.ts'
import { BarePostgresQueue } from './raw/bare-postgres-queue.ts'
import { BareQueue } from './raw/bare-queue.ts'

const WAYS = {
  send: 'sends',
  receive: 'receives',
  trip: 'trips',
} as const

/** A queue that ours is measured beside. */
export interface RivalQueue {
  readonly name: string
  /** A trip of ours must reach this multiple of the rival's, in single calls and in batches. */
  readonly goal: { readonly single: number; readonly batch: number }
  start(ground: Ground): Promise<QueueRates>
}

/** The engines without us. */
export const BARE: Readonly<Record<GroundEngine, RivalQueue>> = {
  sqlite: {
    name: 'bare node:sqlite, two tables, group commit in a worker thread',
    goal: { single: 0.5, batch: 0.5 },
    start: async (ground) => new RatesOfCalls(new BareQueue(await ground.newPlace())),
  },
  postgres: {
    name: 'bare pg, two tables, SKIP LOCKED, a commit for each call',
    goal: { single: 0.5, batch: 0.5 },
    start: async (ground) =>
      new RatesOfCalls(await BarePostgresQueue.create(await ground.newPlace(), CONNECTIONS)),
  },
}

/** Callers beside each other, and the messages of each of their calls. */
const LOADS = [
  { callers: 1, batch: 1 },
  { callers: 64, batch: 1 },
  { callers: 16, batch: 100 },
] as const

/** Sends, receives, and both, by one caller and by many, beside a rival. Each takes an equal part of the seconds. */
export function callsScenario(engine: GroundEngine, rival: RivalQueue): Scenario {
  const prefix = engine === 'postgres' ? 'postgres.messages' : 'messages'
  const nameOf = (way: string, { callers, batch }: Omit<Load, 'seconds'>): string =>
    `${prefix}.${way}.${batch === 1 ? callers : `batch${batch}.${callers}`}`
  const figures = async (rates: QueueRates, seconds: number): Promise<Figures> => {
    const measured: Record<string, number> = {}
    for (const load of LOADS) {
      for (const [way, method] of Object.entries(WAYS)) {
        const part = { ...load, seconds: seconds / Object.keys(WAYS).length }
        measured[nameOf(way, load)] = await rates[method](part)
      }
    }
    return measured
  }
  return {
    name: prefix.replace('.', '-'),
    measures: LOADS.flatMap((load) =>
      Object.keys(WAYS).map((way) => ({
        name: nameOf(way, load),
        unit: 'messages/s',
        rawIs: rival.name,
        goal:
          way === 'trip'
            ? {
                of: 'ratio' as const,
                is: 'atLeast' as const,
                limit: rival.goal[load.batch === 1 ? 'single' : 'batch'],
              }
            : undefined,
      })),
    ),
    async prepare({ folder }): Promise<PreparedScenario> {
      const stack = new AsyncDisposableStack()
      const ground = stack.use(await Ground.of(engine, folder))
      const theirs = stack.use(await rival.start(ground))
      const { broker } = stack.use(await openBenchBroker(await ground.newPlace()))
      const own = stack.use(new RatesOfCalls(await OwnQueue.create(broker, 'work')))
      return {
        ours: (seconds) => figures(own, seconds),
        raw: (seconds) => figures(theirs, seconds),
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      }
    },
  }
}

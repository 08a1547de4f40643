import type { Figures, Measure, PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { figureName, Ground, peerName, type GroundEngine } from '../ground.ts'
import { openBenchBroker, OwnQueue } from '../open-broker.ts'
import { RatesOfCalls, type Load, type QueueRates } from '../queue-rates.ts'

const WAYS = {
  send: 'sends',
  receive: 'receives',
  trip: 'trips',
} as const

/** A trip must reach this multiple of the peer's, in single calls and in batches. */
const PEER_GOALS = {
  sqlite: { single: 2, batch: 2 },
  postgres: { single: 3, batch: 1.2 },
} as const
const BARE_GOAL = 0.5

export interface CallsOptions {
  readonly engine: GroundEngine
  readonly callers: number
  readonly batch: number
}

/** Sends, receives, and both, beside the other product and beside the bare engine. Each takes a third of the seconds. */
export function callsScenario({ engine, callers, batch }: CallsOptions): Scenario {
  const load = batch === 1 ? String(callers) : `batch${batch}.${callers}`
  const nameOf = (way: string): string => figureName(engine, `${way}.${load}`)
  const figures = async (
    rates: QueueRates,
    { seconds, suffix }: { seconds: number; suffix: string },
  ): Promise<Figures> => {
    const measured: Record<string, number> = {}
    const third: Load = { callers, batch, seconds: seconds / 3 }
    for (const [way, method] of Object.entries(WAYS)) {
      measured[`${nameOf(way)}${suffix}`] = await rates[method](third)
    }
    return measured
  }
  return {
    name: `${engine === 'postgres' ? 'postgres-' : ''}messages-calls-${load}`,
    measures: measures({ engine, callers, batch }, nameOf),
    async prepare({ folder }): Promise<PreparedScenario> {
      const stack = new AsyncDisposableStack()
      const ground = stack.use(await Ground.of(engine, folder))
      const peer = stack.use(await ground.peer())
      const bare = stack.use(await ground.bare())
      const { broker } = stack.use(await openBenchBroker(await ground.newPlace()))
      const own = stack.use(new RatesOfCalls(await OwnQueue.create(broker, 'work')))
      return {
        async ours(seconds) {
          const ours = await figures(own, { seconds, suffix: '' })
          const again = Object.entries(ours).map(([name, value]) => [`${name}.perBare`, value])
          return { ...ours, ...(Object.fromEntries(again) as Figures) }
        },
        raw: async (seconds) => ({
          ...(await figures(peer, { seconds, suffix: '' })),
          ...(await figures(bare, { seconds, suffix: '.perBare' })),
        }),
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      }
    },
  }
}

function measures(
  { engine, batch }: CallsOptions,
  nameOf: (way: string) => string,
): readonly Measure[] {
  const unit = 'messages/s'
  const peerGoal = PEER_GOALS[engine][batch === 1 ? 'single' : 'batch']
  const bareIs =
    engine === 'postgres'
      ? 'bare pg, two tables, SKIP LOCKED, a commit for each call'
      : 'bare node:sqlite, two tables, group commit in a worker thread'
  return Object.keys(WAYS).flatMap((way): Measure[] => {
    const goal = (limit: number): Pick<Measure, 'goal'> =>
      way === 'trip' ? { goal: { of: 'ratio', is: 'atLeast', limit } } : {}
    return [
      { name: nameOf(way), unit, rawIs: peerName(engine), ...goal(peerGoal) },
      { name: `${nameOf(way)}.perBare`, unit, rawIs: bareIs, ...goal(BARE_GOAL) },
    ]
  })
}

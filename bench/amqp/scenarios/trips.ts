import { join } from 'node:path'
import type { Figures, Measure, PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { quantile } from '../../measuring/statistics.ts'
import { Pair, type ClientKind } from '../pair.ts'

/** Far below what a server can do, so that latency is not that of a queue before it. */
const PER_SECOND = 500

/** From the call of a send until its message arrives at a receiver of the same client. */
export function tripsScenario(client: ClientKind): Scenario {
  const nameOf = (what: string): string => `amqp.${client}.trip.${what}`
  return {
    name: `amqp-trips-${client}`,
    measures: ['memory', 'folder'].flatMap((place) =>
      ['p50', 'p99'].map((share): Measure => ({
        name: nameOf(`${place}.${share}`),
        unit: 'ms',
        rawIs: 'through the bare rhea server',
      })),
    ),
    async prepare({ folder }): Promise<PreparedScenario> {
      const stack = new AsyncDisposableStack()
      const inMemory = stack.use(await Pair.start({ server: 'front', client }))
      const onFolder = stack.use(
        await Pair.start({ server: 'front', client, folder: join(folder, 'front') }),
      )
      const echo = stack.use(await Pair.start({ server: 'echo', client }))
      const figures = async (pair: Pair, place: string, seconds: number): Promise<Figures> => {
        const { tripsMs } = await pair.ask({ kind: 'trips', perSecond: PER_SECOND, seconds })
        return {
          [nameOf(`${place}.p50`)]: quantile(tripsMs, 0.5),
          [nameOf(`${place}.p99`)]: quantile(tripsMs, 0.99),
        }
      }
      return {
        ours: async (seconds) => ({
          ...(await figures(inMemory, 'memory', seconds)),
          ...(await figures(onFolder, 'folder', seconds)),
        }),
        async raw(seconds) {
          const bare = await figures(echo, 'memory', seconds)
          const again = Object.entries(bare).map(([name, ms]) => [
            name.replace('memory', 'folder'),
            ms,
          ])
          return { ...bare, ...(Object.fromEntries(again) as Figures) }
        },
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      }
    },
  }
}

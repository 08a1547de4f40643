import { join } from 'node:path'
import type { Figures, Measure, PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { Pair, type ClientKind } from '../pair.ts'

const BATCH = 100
const CREDITS = [1, 10, 100] as const
/** Nobody receives more of a client's credit in a second. */
const MOST_PER_CREDIT = 3_000
const MOST = 15_000
/** Of the bare server, which keeps nothing on a disk and locks nothing. */
const BATCH_GOAL = 0.6
const RAW = 'a bare rhea server that decodes and encodes each message'

/** Sends alone and in batches, and receives with little and much credit; the server in memory and on a folder. */
export function ratesScenario(client: ClientKind): Scenario {
  const nameOf = (way: string): string => `amqp.${client}.${way}`
  return {
    name: `amqp-rates-${client}`,
    measures: measures(nameOf),
    async prepare({ folder }): Promise<PreparedScenario> {
      const stack = new AsyncDisposableStack()
      const inMemory = stack.use(await Pair.start({ server: 'front', client }))
      const onFolder = stack.use(
        await Pair.start({ server: 'front', client, folder: join(folder, 'front') }),
      )
      const echo = stack.use(await Pair.start({ server: 'echo', client }))
      return {
        async ours(seconds) {
          return {
            ...named(await ratesOf(inMemory, seconds), (way) => nameOf(`memory.${way}`)),
            ...named(await ratesOf(onFolder, seconds), (way) => nameOf(`folder.${way}`)),
          }
        },
        async raw(seconds) {
          const rates = await ratesOf(echo, seconds)
          return {
            ...named(rates, (way) => nameOf(`memory.${way}`)),
            ...named(rates, (way) => nameOf(`folder.${way}`)),
          }
        },
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      }
    },
  }
}

function measures(nameOf: (way: string) => string): readonly Measure[] {
  const ways = ['send.single', 'send.batch100', ...CREDITS.map((credit) => `receive.${credit}`)]
  return ['memory', 'folder'].flatMap((place) =>
    ways.flatMap((way): Measure[] => [
      {
        name: nameOf(`${place}.${way}`),
        unit: 'messages/s',
        rawIs: RAW,
        ...(way === 'send.batch100' &&
          place === 'memory' && { goal: { of: 'ratio', is: 'atLeast', limit: BATCH_GOAL } }),
      },
      {
        name: nameOf(`${place}.${way}.clientCores`),
        unit: 'cores',
        rawIs: 'the client of the bare server: near 1, the client is the limit',
      },
      {
        name: nameOf(`${place}.${way}.serverCores`),
        unit: 'cores',
        rawIs: 'the bare server',
      },
    ]),
  )
}

function named(rates: Figures, name: (way: string) => string): Figures {
  return Object.fromEntries(Object.entries(rates).map(([way, rate]) => [name(way), rate]))
}

async function ratesOf(pair: Pair, seconds: number): Promise<Figures> {
  const figures: Record<string, number> = {}
  const measure = async (way: string, request: Parameters<Pair['ask']>[0]): Promise<void> => {
    const [startedMs, before] = [performance.now(), await pair.usage()]
    const { perSecond, cores } = await pair.ask(request)
    const after = await pair.usage()
    figures[way] = perSecond
    figures[`${way}.clientCores`] = cores
    figures[`${way}.serverCores`] = (after.cpuMs - before.cpuMs) / (performance.now() - startedMs)
  }
  await measure('send.single', { kind: 'send', batch: 1, seconds })
  await measure('send.batch100', { kind: 'send', batch: BATCH, seconds })
  for (const credit of CREDITS) {
    const count = Math.ceil(Math.min(credit * MOST_PER_CREDIT, MOST) * seconds)
    await pair.ask({ kind: 'fill', count })
    await measure(`receive.${credit}`, { kind: 'receive', credit, seconds })
  }
  return figures
}

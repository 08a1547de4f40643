import { setTimeout as sleep } from 'node:timers/promises'
import type { Figures, PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { Pair, type ServerKind } from '../pair.ts'

const RECEIVERS = 100
/** Times the seconds of a measurement. */
const IDLE_TIMES = 5
/** What opening them left to do is over by then. */
const SETTLE_MS = 1_000
const MEBIBYTE = 1024 * 1024

/** A hundred connections with a receiver each that has credit, and to which nothing comes. */
export const idleScenario: Scenario = {
  name: 'amqp-idle',
  measures: [
    { name: 'amqp.idle100.heapMiB', unit: 'MiB', rawIs: 'the bare rhea server' },
    { name: 'amqp.idle100.residentMiB', unit: 'MiB', rawIs: 'the bare rhea server' },
    { name: 'amqp.idle100.cpuMsPerSecond', unit: 'ms/s', rawIs: 'the bare rhea server' },
  ],
  prepare: (): Promise<PreparedScenario> =>
    Promise.resolve({
      ours: (seconds) => idle('front', seconds),
      raw: (seconds) => idle('echo', seconds),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
}

/** Each in a new server. */
async function idle(server: ServerKind, seconds: number): Promise<Figures> {
  await using pair = await Pair.start({ server, client: 'lean' })
  const before = await pair.usage()
  await pair.ask({ kind: 'idle', receivers: RECEIVERS })
  await sleep(SETTLE_MS)
  const opened = await pair.usage()
  const startedMs = performance.now()
  await sleep(seconds * IDLE_TIMES * 1000)
  const after = await pair.usage()
  return {
    'amqp.idle100.heapMiB': (opened.heapBytes - before.heapBytes) / MEBIBYTE,
    'amqp.idle100.residentMiB': (opened.residentBytes - before.residentBytes) / MEBIBYTE,
    'amqp.idle100.cpuMsPerSecond':
      ((after.cpuMs - opened.cpuMs) / (performance.now() - startedMs)) * 1000,
  }
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'
import { ServerProcess } from './gateway-process.ts'
import { HttpCalls } from './http-calls.ts'

/** The least that can answer. */
const BARE_SERVER = `
import { createServer } from 'node:http'
const server = createServer((_, outgoing) => outgoing.end('{}'))
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ endpoint: 'http://127.0.0.1:' + server.address().port + '/' }))
})`
/** What a process does after its first answer is over by then. */
const IDLE_MS = 1_000

/** From the start of the process to its first answer, and what it holds when nothing happens. */
export const startUp: Scenario = {
  name: 'gateway-start',
  measures: [
    { name: 'gateway.startMs', unit: 'ms', rawIs: 'bare Node HTTP server' },
    { name: 'gateway.idleMb', unit: 'MiB', rawIs: 'bare Node HTTP server' },
  ],
  async prepare({ folder }): Promise<PreparedScenario> {
    {
      await using store = await openBenchStore(folder)
      await loadOrders(store, 1_000)
    }
    return {
      ours: () => startOnce(() => ServerProcess.gateway(join(folder, 'store'))),
      raw: () =>
        startOnce(() => ServerProcess.start(['--input-type=module', '--eval', BARE_SERVER])),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  },
}

async function startOnce(start: () => Promise<ServerProcess>): Promise<Record<string, number>> {
  const startedMs = machineMs()
  await using server = await start()
  using calls = new HttpCalls(server.endpoint, { connections: 1 })
  await calls.call({ method: 'GET', path: '/' })
  const startMs = machineMs() - startedMs
  await sleep(IDLE_MS)
  const status = await readFile(`/proc/${server.pid}/status`, 'utf8')
  const [, rssKib = 'NaN'] = /VmRSS:\s+(\d+)/.exec(status) ?? []
  return { 'gateway.startMs': startMs, 'gateway.idleMb': Number(rssKib) / 1024 }
}

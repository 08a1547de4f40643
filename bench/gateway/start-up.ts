import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { SERVED_KEY } from '../../tests/gateway/signed-request.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'
import { HttpCalls } from './http-calls.ts'

const BUILT = fileURLToPath(new URL('../../packages/tidemark/dist/cli/main.js', import.meta.url))
const SOURCE = fileURLToPath(new URL('../../packages/tidemark/src/cli/main.ts', import.meta.url))
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
    const keyFile = join(folder, 'key')
    await writeFile(keyFile, SERVED_KEY)
    const serve = ['serve', join(folder, 'store'), '--port', '0', '--key-file', keyFile, '--json']
    // What users run is built; from the sources types are taken off first.
    const program = existsSync(BUILT) ? [BUILT] : ['--conditions=@tidemark/source', SOURCE]
    return {
      ours: () => startOnce([...program, ...serve]),
      raw: () => startOnce(['--input-type=module', '--eval', BARE_SERVER]),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  },
}

async function startOnce(args: readonly string[]): Promise<Record<string, number>> {
  const startedMs = machineMs()
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  try {
    let line = ''
    for await (const piece of child.stdout.setEncoding('utf8')) {
      line += String(piece)
      if (line.includes('\n')) break
    }
    const { endpoint } = JSON.parse(line) as { readonly endpoint: string }
    using calls = new HttpCalls(endpoint, { connections: 1 })
    await calls.call({ method: 'GET', path: '/' })
    const startMs = machineMs() - startedMs
    await sleep(IDLE_MS)
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
    const [, rssKib = 'NaN'] = /VmRSS:\s+(\d+)/.exec(status) ?? []
    return { 'gateway.startMs': startMs, 'gateway.idleMb': Number(rssKib) / 1024 }
  } finally {
    child.kill('SIGTERM')
    await exited
  }
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import { Store } from '@tidemark/store'
import { ensurePromtool } from '@tidemark/testing/servers'

/*
 * Has Prometheus' own `promtool check metrics` judge what `tidemark dev` answers to /metrics, with a group that is behind. Not a
 * part of the gate or the night: it downloads 19 MB.
 */

const COMMAND = fileURLToPath(new URL('../../packages/tidemark/src/cli/main.ts', import.meta.url))
const PORTS = ['--port', '0', '--amqp-port', '0', '--admin-port', '0']

const promtool = await ensurePromtool({ onProgress: console.log })
const metrics = await metricsOfDev()
const checking = spawn(promtool, ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] })
checking.stdin.end(metrics)
const [output, errors, [code]] = await Promise.all([
  text(checking.stdout),
  text(checking.stderr),
  once(checking, 'close') as Promise<[number | null]>,
])
const families = metrics.match(/^# TYPE /gm)?.length ?? 0
console.log(`${output}${errors}promtool: ${families} metrics, exit code ${code}`)
process.exitCode = code === 0 && families > 15 ? 0 : 1

async function metricsOfDev(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-promtool-'))
  try {
    await makeGroup(folder)
    return await scrapeDev(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function makeGroup(folder: string): Promise<void> {
  await using store = await Store.open({ engine: await openSqliteEngine({ folder }) })
  const shop = await store.createDatabaseIfNotExists('shop')
  const orders = await shop.createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
  const leaseCollection = { id: 'leases', partitionKey: '/partitionKey' } as const
  const leases = new DocumentLeaseStore(await shop.createCollectionIfNotExists(leaseCollection))
  const host = new ChangeFeedProcessorHost({ group: 'mirror', feed: orders, leases })
  await host.runUntilCaughtUp(() => {})
  await orders.upsert({ id: 'o1' })
}

async function scrapeDev(folder: string): Promise<string> {
  const args = ['--conditions=@tidemark/source', COMMAND, 'dev', folder, ...PORTS, '--json']
  const dev = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(dev, 'close')
  try {
    const [line] = (await once(dev.stdout, 'data')) as [Buffer]
    const { endpoint } = JSON.parse(String(line)) as { readonly endpoint: string }
    // Requests are counted from the first answer on.
    for (const path of ['metrics', 'livez', 'dbs']) await (await fetch(endpoint + path)).text()
    return await (await fetch(`${endpoint}metrics`)).text()
  } finally {
    dev.kill('SIGTERM')
    await ended
  }
}

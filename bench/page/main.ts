import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startRedisProcess } from '@tidemark/testing/servers'
import { readArguments, whole } from '../../scripts/command-line/read-arguments.ts'
import { orderDocument } from '../data/order-document.ts'
import { BenchChild } from '../measuring/child-process.ts'
import { usageOf } from '../measuring/process-usage.ts'
import { median } from '../measuring/statistics.ts'
import { openStoreIn, ordersIn, storeFolder } from '../store/open-bench-store.ts'
import type { FleetReply, FleetRequest, FleetVariant } from './fleet.child.ts'

const USAGE = `usage: npm run page-cost -- [--hosts N] [--leases N] [--seconds N] [--runs N] [--rate N]

What it costs to look: CPU of a fleet whose leases are on Redis, of Redis, and of the page's server, in percent of
a core, with the page closed and open; without what hosts tell of their work; and with OpenTelemetry.

  --hosts N     hosts, all in one process                    (default 20)
  --leases N    leases of the fleet, a multiple of 100       (default 1000)
  --seconds N   length of one measurement                    (default 10)
  --runs N      measurements of each kind, in turns          (default 3)
  --rate N      documents written in a second                (default 500)`

const RANGES = 100
const REST_MS = 5_000
const VARIANTS: readonly FleetVariant[] = ['withoutNotes', 'plain', 'telemetry']

type Fleet = BenchChild<FleetRequest, FleetReply>

interface Cost {
  readonly hosts: number
  readonly redis: number
  readonly page: number
}

async function main(): Promise<void> {
  const { values } = readArguments(USAGE, {
    hosts: whole(1, 20),
    leases: whole(RANGES, 1_000),
    seconds: whole(1, 10),
    runs: whole(1, 3),
    rate: whole(1, 500),
  })
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-page-'))
  await using redis = await startRedisProcess()
  const redisUrl = `redis://${redis.host}:${redis.port}`
  await using store = await openStoreIn(folder)
  const orders = await ordersIn(store, { id: 'orders', partitionCount: RANGES })
  const stop = new AbortController()
  const writing = writePaced(
    (index) => orders.upsert(orderDocument(index)),
    values.rate,
    stop.signal,
  )
  try {
    for (const variant of VARIANTS) {
      await using fleet: Fleet = await BenchChild.start(new URL('fleet.child.ts', import.meta.url))
      const { hosts, leases } = values
      const leasesPerRange = Math.max(1, Math.round(leases / RANGES))
      await fleet.call({ kind: 'start', folder, redisUrl, hosts, leasesPerRange, variant })
      while ((await fleet.call({ kind: 'held' })) < leasesPerRange * RANGES) await sleep(200)
      await sleep(REST_MS)
      await using page = await startPage(storeFolder(folder), redisUrl)
      const pids = { hosts: fleet.pid, redis: redis.pid ?? 0, page: page.pid }
      const closed: Cost[] = []
      const open: Cost[] = []
      let bytes = 0
      for (let run = 0; run < values.runs; run += 1) {
        closed.push(await costOf(pids, values.seconds))
        if (variant === 'telemetry') continue
        const before = bytes
        const reading = new AbortController()
        const streams = page.open(reading.signal, (length) => (bytes += length))
        await sleep(REST_MS)
        open.push(await costOf(pids, values.seconds))
        reading.abort()
        await streams
        if (bytes === before) throw new Error('the page sent nothing')
      }
      report(variant, 'closed', closed)
      if (open.length > 0) report(variant, 'open', open)
    }
  } finally {
    stop.abort()
    await writing
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
}

function report(variant: FleetVariant, page: 'closed' | 'open', costs: readonly Cost[]): void {
  const of = (name: keyof Cost): number =>
    Number(median(costs.map((cost) => cost[name])).toFixed(2))
  const line = { variant, page, hosts: of('hosts'), redis: of('redis'), pageServer: of('page') }
  console.log(JSON.stringify({ ...line, unit: '% of a core', runs: costs }))
}

/** CPU of each process in percent of a core. */
async function costOf(pids: Record<keyof Cost, number>, seconds: number): Promise<Cost> {
  const cpu = async (): Promise<readonly number[]> =>
    Promise.all(
      [pids.hosts, pids.redis, pids.page].map(async (pid) => (await usageOf([pid])).cpuMs),
    )
  const before = await cpu()
  const startedMs = performance.now()
  await sleep(seconds * 1000)
  const after = await cpu()
  const passedMs = performance.now() - startedMs
  const [hosts = 0, redis = 0, page = 0] = after.map(
    (ms, index) => (100 * (ms - (before[index] ?? 0))) / passedMs,
  )
  return { hosts, redis, page }
}

interface RunningPage extends AsyncDisposable {
  readonly pid: number
  /** Looks at overview and group as a browser does, until the signal. */
  open(signal: AbortSignal, onBytes: (length: number) => void): Promise<void>
}

async function startPage(folder: string, redisUrl: string): Promise<RunningPage> {
  const command = fileURLToPath(new URL('../../packages/tidemark/src/cli/main.ts', import.meta.url))
  const args = ['ui', folder, '--leases', redisUrl, '--port', '0', '--json']
  const child = spawn(process.execPath, [...process.execArgv, command, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { page } = JSON.parse(line) as { readonly page: string }
  const overview = (await (await fetch(new URL('api/views/overview', page))).json()) as {
    readonly tables: { readonly groups: readonly { readonly leases: string }[] }
  }
  const leases = overview.tables.groups[0]?.leases
  if (leases === undefined) throw new Error('the page shows no group')
  const query = new URLSearchParams({ leases, group: 'fleet' })
  const read = async (
    path: string,
    signal: AbortSignal,
    onBytes: (length: number) => void,
  ): Promise<void> => {
    try {
      const answer = await fetch(new URL(path, page), { signal })
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
      const body = answer.body as AsyncIterable<Uint8Array> | null
      for await (const { length } of body ?? []) onBytes(length)
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
  return {
    pid: child.pid ?? 0,
    open: async (signal, onBytes) => {
      const paths = ['api/streams/overview', `api/streams/group?${query.toString()}`]
      await Promise.all(paths.map((path) => read(path, signal, onBytes)))
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function writePaced(
  write: (index: number) => Promise<unknown>,
  rate: number,
  signal: AbortSignal,
): Promise<void> {
  const startedMs = performance.now()
  for (let written = 0; !signal.aborted;) {
    const due = ((performance.now() - startedMs) / 1000) * rate
    const calls: Promise<unknown>[] = []
    for (; written < due; written += 1) calls.push(write(written))
    await Promise.all(calls)
    await sleep(10)
  }
}

await main()
process.exit()

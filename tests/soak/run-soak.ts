import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '@tidemark/contracts'
import { startRedisProcess, type RedisProcess } from '@tidemark/testing/servers'
import { Load } from '../faults/campaign/load.ts'
import { FaultProcess } from '../faults/fault-process.ts'
import { machineMs } from '../faults/history.ts'
import { openFilesOf, takeHoldings } from './holdings.ts'
import { ProgressCheck } from './progress-check.ts'
import { ProgressReader } from './progress-log.ts'
import { openSoakStore, type SoakStore } from './soak-store.ts'
import type { Holdings, SoakCounts, SoakHostTask, SoakOrder } from './soak-tasks.ts'
import type { Measure, Series } from './soak-verdict.ts'

export interface SoakOptions {
  readonly durationMs: number
  /** What is sampled in this time is not judged. */
  readonly warmUpMs: number
  readonly sampleEveryMs: number
  readonly killEveryMs: number
  readonly reshapeEveryMs: number
  readonly rejoinEveryMs: number
  readonly changesPerSecond: number
  /** Told now and then how far it is. */
  readonly onProgress?: ((line: string) => void) | undefined
}

export interface SoakResult {
  readonly series: readonly Series[]
  /** What happened; each must be above 0. */
  readonly happened: Readonly<Record<string, number>>
  /** What must not be, as sentences. */
  readonly wrong: readonly string[]
}

const FAILING = 0.01
const MAX_RANGES = 8
const LOOK_MS = 1_000
/** By then a line that has its time is in the file. */
const LATE_MS = 2_000
const SETTLE_MS = 60_000
/** What is done seldom is compiled and cached by then all the same. */
const WARM_UP_HASTE = 6

interface Watched {
  readonly host: SoakHost
  /** With all that it writes; removed when it has ended and all was read. */
  readonly folder: string
  readonly reader: ProgressReader
}

/** Two lists of plain numbers: this process is judged too. */
interface Samples {
  readonly process: string
  readonly measure: Measure
  readonly xs: number[]
  readonly ys: number[]
}

type SoakHost = FaultProcess<SoakHostTask>

/**
 * Two hosts that are never killed, one that is, again and again, a writer at a steady pace in this process, which also
 * splits and merges ranges, and observers some of whose batches fail. Everything that was written must be done, each
 * key's changes in order, and nothing that a process holds may grow.
 */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-soak-'))
  await using resources = new AsyncDisposableStack()
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  const redis = resources.use(await startRedisProcess())
  const store = resources.use(await openSoakStore(folder))
  const soak = new Soak(options, { folder, redis, store })
  resources.defer(() => soak.end())
  return await soak.run()
}

class Soak {
  readonly #options: SoakOptions
  readonly #folder: string
  readonly #redis: RedisProcess
  readonly #store: SoakStore
  readonly #hosts = new Map<string, SoakHost>()
  /** Reject when the host of this name ends. */
  readonly #deaths = new WeakMap<SoakHost, Promise<never>>()
  /** Of those that run, and of those that ended since the last look. */
  readonly #watched = new Set<Watched>()
  #started = 0
  readonly #check = new ProgressCheck()
  readonly #written = new Map<string, number>()
  readonly #samples = new Map<string, Samples>()
  readonly #happened = { kills: 0, splits: 0, merges: 0, rejoins: 0, failedBatches: 0, written: 0 }
  readonly #stopping = new AbortController()
  readonly #startMs = machineMs()

  constructor(
    options: SoakOptions,
    place: { readonly folder: string; readonly redis: RedisProcess; readonly store: SoakStore },
  ) {
    this.#options = options
    this.#folder = place.folder
    this.#redis = place.redis
    this.#store = place.store
  }

  async run(): Promise<SoakResult> {
    const { durationMs, killEveryMs, reshapeEveryMs, rejoinEveryMs } = this.#options
    await Promise.all(['steady-1', 'steady-2', 'killed'].map((name) => this.#start(name)))
    const load = new Load(this.#store.events, {
      perSecond: this.#options.changesPerSecond,
      keyPrefix: 'k',
      onWritten: ({ id, key }) => this.#written.set(key, Number(id.split(':')[1])),
    })
    const actors = [
      this.#each(killEveryMs, () => this.#kill()),
      this.#each(reshapeEveryMs, () => this.#reshape(), WARM_UP_HASTE),
      this.#each(rejoinEveryMs, () => this.#rejoin(), WARM_UP_HASTE),
      this.#each(this.#options.sampleEveryMs, () => this.#sample()),
      this.#each(LOOK_MS, () => this.#look()),
    ]
    const failure = Promise.all(actors)
    const over = sleep(durationMs, undefined, { signal: this.#stopping.signal })
    try {
      await Promise.race([over, failure])
    } finally {
      this.#stopping.abort()
      await over.catch(() => {})
      await load.stop()
    }
    await failure
    return { series: this.#judged(), happened: this.#happened, wrong: await this.#settled() }
  }

  async end(): Promise<void> {
    await Promise.all([...this.#hosts.values()].map((host) => host.end()))
  }

  /** Until the soak is over; `act` is not begun while it runs. `haste`: so much more often during the warm-up. */
  async #each(everyMs: number, act: () => Promise<void>, haste = 1): Promise<void> {
    const { signal } = this.#stopping
    const warmMs = this.#startMs + this.#options.warmUpMs
    for (;;) {
      const pauseMs = machineMs() < warmMs ? everyMs / haste : everyMs
      await sleep(pauseMs, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      await act()
    }
  }

  async #start(hostName: string): Promise<void> {
    this.#started += 1
    const folder = join(this.#folder, `host-${this.#started}`)
    await mkdir(folder)
    const progressPath = join(folder, 'progress')
    const host = await FaultProcess.start<SoakHostTask>('../soak/soak-host.child.ts', {
      hostName,
      folder: this.#folder,
      redisPort: this.#redis.port,
      progressPath,
      failing: FAILING,
      historyFile: join(folder, 'history.jsonl'),
    })
    this.#hosts.set(hostName, host)
    this.#watched.add({ host, folder, reader: new ProgressReader(progressPath) })
    const death = host.finished().then(() => Promise.reject(new Error(`${hostName} ended`)))
    // Of the one that is killed nobody wants to know.
    death.catch(() => {})
    this.#deaths.set(host, death)
  }

  async #kill(): Promise<void> {
    await this.#hosts.get('killed')?.kill()
    this.#happened.kills += 1
    // Sometimes within its session, sometimes after the others took over.
    await sleep(Math.random() * 2 * LOOK_MS)
    await this.#start('killed')
  }

  /** Ranges go up to `MAX_RANGES` and down again, for as long as it takes. */
  async #reshape(): Promise<void> {
    const { events } = this.#store
    const ranges = await events.readFeedRanges()
    const index = Math.floor(Math.random() * ranges.length)
    const [range, next] = [ranges[index], ranges[index + 1]]
    if (range?.id === undefined) return
    if (Math.random() * MAX_RANGES > ranges.length) {
      try {
        await events.split(range.id)
        this.#happened.splits += 1
      } catch (error) {
        // One that has a single key.
        if (errorCode(error) !== 'ERR_RANGE_INDIVISIBLE') throw error
      }
    } else if (next?.id !== undefined) {
      await events.merge(range.id, next.id)
      this.#happened.merges += 1
    }
  }

  async #rejoin(): Promise<void> {
    await this.#ask('steady-2', { kind: 'rejoin' })
    this.#happened.rejoins += 1
  }

  async #ask(name: string, order: SoakOrder): Promise<SoakCounts> {
    const host = this.#hosts.get(name)
    if (host === undefined) throw new Error(`there is no host ${name}`)
    const reply = host.reply()
    host.tell(order)
    // The child answers so.
    return (await Promise.race([reply, this.#deaths.get(host)])) as unknown as SoakCounts
  }

  async #sample(): Promise<void> {
    let failed = 0
    for (const name of ['steady-1', 'steady-2']) {
      const counts = await this.#ask(name, { kind: 'sample' })
      failed += counts.failed
      await this.#note(name, this.#hosts.get(name)?.pid ?? 0, counts)
    }
    this.#happened.failedBatches = failed
    await this.#note('writer', process.pid, takeHoldings())
    const info = await this.#redis.admin.info()
    const figure = (name: string): number => Number(new RegExp(`${name}:(\\d+)`).exec(info)?.[1])
    this.#point('redis', 'redis memory', figure('used_memory'))
    this.#point('redis', 'redis clients', figure('connected_clients'))
    this.#point('store', 'store', await bytesIn(join(this.#folder, 'store')))
  }

  async #note(name: string, pid: number, holdings: Holdings): Promise<void> {
    this.#point(name, 'heap after gc', holdings.heapBytes)
    this.#point(name, 'resident', holdings.residentBytes)
    this.#point(name, 'resources', holdings.resources)
    const open = await openFilesOf(pid)
    if (open === undefined) return
    this.#point(name, 'open files', open.files)
    this.#point(name, 'sockets', open.sockets)
  }

  #point(name: string, measure: Measure, y: number): void {
    const key = `${name} ${measure}`
    const samples = this.#samples.get(key) ?? { process: name, measure, xs: [], ys: [] }
    samples.xs.push((machineMs() - this.#startMs) / 3_600_000)
    samples.ys.push(y)
    this.#samples.set(key, samples)
  }

  #judged(): readonly Series[] {
    const fromX = this.#options.warmUpMs / 3_600_000
    return [...this.#samples.values()].map(({ process: name, measure, xs, ys }) => {
      const points = xs.map((x, index) => ({ x, y: ys[index] ?? Number.NaN }))
      return { process: name, measure, points: points.filter(({ x }) => x >= fromX) }
    })
  }

  async #look(): Promise<void> {
    const nowMs = machineMs()
    for (const watched of this.#watched) {
      const { host, folder, reader } = watched
      // Looked for before: then what is read is all.
      const isOver = host.hasEnded
      this.#check.add(reader.read())
      if (isOver) {
        this.#watched.delete(watched)
        await rm(folder, { recursive: true })
      }
      if (host.diedSaying !== undefined) throw new Error(`a host died: ${host.diedSaying}`)
      if (host.events('horizonPassed') > 0) throw new Error('a host came too late')
    }
    this.#check.judge(nowMs - LATE_MS)
    const { done, repeated } = this.#check
    const minutes = ((nowMs - this.#startMs) / 60_000).toFixed(1)
    const { kills } = this.#happened
    this.#options.onProgress?.(`${minutes} min: ${done} done, ${repeated} repeated, ${kills} kills`)
  }

  /** Waits until everything that was written was done. */
  async #settled(): Promise<readonly string[]> {
    const endMs = machineMs() + SETTLE_MS
    for (;;) {
      await this.#look()
      const missing = this.#check.missing(this.#written)
      if (missing === 0 || machineMs() > endMs) {
        this.#happened.written = this.#check.done
        const lost = missing === 0 ? [] : [`${missing} changes were written, and never done`]
        return [...this.#check.wrong, ...lost]
      }
      await sleep(LOOK_MS / 2)
    }
  }
}

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder, { withFileTypes: true })
  const sizes = await Promise.all(
    files
      .filter((file) => file.isFile())
      .map(({ name }) =>
        stat(join(folder, name)).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

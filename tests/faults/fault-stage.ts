import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedisProcess, type RedisProcess } from '@tidemark/testing/servers'
import { deliveries, missing } from './check-history.ts'
import { openFeedStore, type FeedStore } from './feed-store.ts'
import {
  HostProcess,
  type HostProcessOptions,
  FAULT_TIMES,
  MAX_ITEM_COUNT,
} from './host-process.ts'
import { until } from './until.ts'

/** What every test needs: a folder with a store, a Redis unless leases are in the folder, and hosts that are killed at the end. */
export class FaultStage implements AsyncDisposable {
  readonly folder: string
  readonly store: FeedStore
  readonly #redis: RedisProcess | undefined
  readonly #hosts: HostProcess[] = []

  private constructor(stage: {
    folder: string
    store: FeedStore
    redis: RedisProcess | undefined
  }) {
    this.folder = stage.folder
    this.store = stage.store
    this.#redis = stage.redis
  }

  get redis(): RedisProcess {
    if (this.#redis === undefined) throw new Error('leases are in the folder here')
    return this.#redis
  }

  static async open({
    ranges,
    redisArgs,
    leases = 'redis',
  }: {
    readonly ranges: number
    readonly redisArgs?: readonly string[] | undefined
    /** @default `redis` */
    readonly leases?: 'redis' | 'folder' | undefined
  }): Promise<FaultStage> {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-faults-'))
    const redis = leases === 'redis' ? await startRedisProcess({ args: redisArgs }) : undefined
    const store = await openFeedStore(folder, ranges)
    return new FaultStage({ folder, store, redis })
  }

  /** Every host process that was started, also those that are gone. */
  get hosts(): readonly HostProcess[] {
    return this.#hosts
  }

  async start(
    hostName: string,
    options: Partial<HostProcessOptions> & { readonly label?: string | undefined } = {},
  ): Promise<HostProcess> {
    const { label, ...overrides } = options
    const host = await HostProcess.begin(
      {
        hostName,
        group: 'faults',
        folder: this.folder,
        redisPort: this.#redis?.port,
        ...FAULT_TIMES,
        maxItemCount: MAX_ITEM_COUNT,
        observerMs: 0,
        checkpointInObserver: false,
        ...overrides,
      },
      label,
    )
    this.#hosts.push(host)
    return host
  }

  histories(): readonly HostProcess['history'][] {
    return this.#hosts.map(({ history }) => history)
  }

  /** Waits until every written document was delivered to some host. */
  async untilDelivered(written: readonly string[]): Promise<void> {
    await until(() => missing(written, deliveries(this.histories())).length === 0, {
      what: 'every written document delivered',
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host[Symbol.asyncDispose]()))
    await this.store.close()
    await this.#redis?.stop()
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** Leases that a host has open at the end of its history. */
export function openLeases(host: HostProcess): ReadonlyMap<string, number> {
  const open = new Map<string, number>()
  for (const entry of host.history) {
    if (entry.kind === 'open') open.set(entry.lease, entry.epoch)
    if (entry.kind === 'close') open.delete(entry.lease)
  }
  return open
}

/** Waits until the hosts hold all `ranges` leases, none two more than another. */
export async function untilShared(hosts: readonly HostProcess[], ranges: number): Promise<void> {
  await until(
    () => {
      const counts = hosts.map((host) => openLeases(host).size)
      const sum = counts.reduce((total, count) => total + count, 0)
      return sum === ranges && Math.max(...counts) - Math.min(...counts) <= 1
    },
    { what: `${ranges} leases shared out over ${hosts.length} hosts` },
  )
}

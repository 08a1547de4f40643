import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '@tidemark/contracts'
import { RedisLeaseStore } from '@tidemark/lease-redis'
import { DocumentLeaseStore, MemoryLeaseStore } from '@tidemark/processor'
import { startRedisProcess } from '@tidemark/testing/servers'
import { Redis } from 'ioredis'
import { openBenchStore } from '../store/open-bench-store.ts'
import type { LeaseStores, OpenedLeaseStore } from './fleet.ts'

export type LeaseStoreKind = 'redis' | 'documents' | 'memory'

export interface OpenedLeaseStores {
  readonly stores: LeaseStores
  /** Commands that the hosts send to the server in so much time. */
  readonly countCommands?: ((durationMs: number) => Promise<number>) | undefined
}

export function openLeaseStores(
  kind: LeaseStoreKind,
  redisUrl: string | undefined,
): Promise<OpenedLeaseStores> {
  switch (kind) {
    case 'memory':
      return Promise.resolve(memoryStores())
    case 'documents':
      return documentStores()
    case 'redis':
      return redisUrl === undefined ? ownRedisStores() : Promise.resolve(redisStores(redisUrl))
  }
}

function memoryStores(): OpenedLeaseStores {
  const leases = new MemoryLeaseStore({ clock: systemClock })
  return { stores: sharedStores(() => leases, nothing) }
}

/** The embedded store in a folder; every host has a lease store of its own on it. */
async function documentStores(): Promise<OpenedLeaseStores> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-balance-'))
  const store = await openBenchStore(folder)
  return {
    stores: sharedStores(
      () => new DocumentLeaseStore(store.leases),
      async () => {
        await store.close()
        await rm(folder, { recursive: true, force: true })
      },
    ),
  }
}

function sharedStores(
  leases: () => OpenedLeaseStore['leases'],
  dispose: () => Promise<void>,
): LeaseStores {
  return {
    open: () => Promise.resolve({ leases: leases(), [Symbol.asyncDispose]: nothing }),
    [Symbol.asyncDispose]: dispose,
  }
}

async function ownRedisStores(): Promise<OpenedLeaseStores> {
  const server = await startRedisProcess()
  const opened = redisStores(`redis://${server.host}:${server.port}`)
  return {
    ...opened,
    stores: {
      open: () => opened.stores.open(),
      [Symbol.asyncDispose]: () => server.stop(),
    },
  }
}

/** A connection for each host, as separate processes would have. */
function redisStores(url: string): OpenedLeaseStores {
  let sent = 0
  class CountedRedis extends Redis {
    override sendCommand(...call: Parameters<Redis['sendCommand']>): unknown {
      sent++
      return super.sendCommand(...call)
    }
  }
  return {
    stores: {
      open: async () => {
        const redis = new CountedRedis(url, { retryStrategy: () => 50, maxRetriesPerRequest: null })
        redis.on('error', () => {})
        await redis.ping()
        return {
          leases: new RedisLeaseStore(redis, { allowVolatile: true }),
          [Symbol.asyncDispose]: () => Promise.resolve(redis.disconnect()),
        }
      },
      [Symbol.asyncDispose]: nothing,
    },
    countCommands: async (durationMs) => {
      const before = sent
      await sleep(durationMs)
      return sent - before
    },
  }
}

function nothing(): Promise<void> {
  return Promise.resolve()
}

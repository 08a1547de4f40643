import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { PostgresProcess } from '@tidemark/testing/servers'
import { startBenchServer } from '../postgres/bench-server.ts'
import { BullmqQueue } from './peers/bullmq-queue.ts'
import { PgBossQueue } from './peers/pg-boss-queue.ts'
import { RatesOfCalls, type QueueRates } from './queue-rates.ts'
import { BarePostgresQueue } from './raw/bare-postgres-queue.ts'
import { BareQueue } from './raw/bare-queue.ts'

export type GroundEngine = 'sqlite' | 'postgres'

/** Of everyone's pool: our engine's default. */
const CONNECTIONS = 10

/** Where one scenario keeps its stores, and those that it compares with: a folder, or a server of its own. */
export class Ground implements AsyncDisposable {
  readonly #folder: string
  readonly #server: PostgresProcess | undefined
  #places = 0

  private constructor(folder: string, server: PostgresProcess | undefined) {
    this.#folder = folder
    this.#server = server
  }

  static async of(engine: GroundEngine, folder: string): Promise<Ground> {
    return new Ground(folder, engine === 'postgres' ? await startBenchServer() : undefined)
  }

  /** For one more store. */
  async newPlace(): Promise<string> {
    if (this.#server !== undefined) return this.#server.createDatabase()
    const place = join(this.#folder, String(++this.#places))
    await mkdir(place)
    return place
  }

  /** The other product: pg-boss on the same server, or BullMQ on a Redis of its own. */
  async peer(): Promise<QueueRates> {
    if (this.#server === undefined) return BullmqQueue.start()
    const queue = await PgBossQueue.create(await this.newPlace(), CONNECTIONS)
    return new RatesOfCalls(queue)
  }

  /** The engine without us. */
  async bare(): Promise<QueueRates> {
    const place = await this.newPlace()
    const queue =
      this.#server === undefined
        ? new BareQueue(place)
        : await BarePostgresQueue.create(place, CONNECTIONS)
    return new RatesOfCalls(queue)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]()
  }
}

/** What figures of an engine begin with, as those of documents do. */
export function figureName(engine: GroundEngine, name: string): string {
  return engine === 'postgres' ? `postgres.messages.${name}` : `messages.${name}`
}

/** Names the other product. */
export function peerName(engine: GroundEngine): string {
  return engine === 'postgres'
    ? 'pg-boss on the same server'
    : 'BullMQ, Redis with appendfsync always'
}

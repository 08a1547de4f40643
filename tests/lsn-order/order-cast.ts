import { statSync } from 'node:fs'
import { join } from 'node:path'
import { CampaignProcess } from '../campaign/campaign-process.ts'
import { readAcknowledged, readPages, type AcknowledgedWrite } from './logs.ts'
import type {
  FeedName,
  OrderChangerMessage,
  OrderChangerTask,
  OrderReaderMessage,
  OrderReaderTask,
  OrderWriterMessage,
  OrderWriterTask,
} from './order-tasks.ts'
import type { SeenPage } from './ordered-feed.ts'
import { named } from '../crash/postgres/server-faults.ts'

/** Names of the connections, by what the process does. */
export const ROLES = { writer: 'order-writer', reader: 'order-reader', changer: 'order-changer' }

/** One size a reader, but for the last, which takes small pages of any. */
const PAGE_SIZES = [[1000], [100, 1000], [17], [1, 2, 3, 5]]

export interface CastSizes {
  readonly writerProcesses: number
  readonly lanesEach: number
  readonly readers: number
}

interface Member<Message extends { readonly kind: string }> {
  readonly process: CampaignProcess<Message>
  readonly log: string
}

/** What the processes of a run came to. */
export interface CastReport {
  readonly acknowledged: readonly AcknowledgedWrite[]
  readonly unknownOutcomes: number
  readonly readers: readonly { readonly pages: readonly SeenPage[]; readonly reopened: number }[]
  readonly changes: Extract<OrderChangerMessage, { kind: 'changed' }> | undefined
}

/** The processes of a run: those that write, those that read, and the one that splits and merges. */
export class OrderCast {
  readonly #writers: readonly Member<OrderWriterMessage>[]
  readonly #readers: readonly Member<OrderReaderMessage>[]
  readonly #changer: CampaignProcess<OrderChangerMessage> | undefined

  private constructor(cast: {
    readonly writers: readonly Member<OrderWriterMessage>[]
    readonly readers: readonly Member<OrderReaderMessage>[]
    readonly changer: CampaignProcess<OrderChangerMessage> | undefined
  }) {
    this.#writers = cast.writers
    this.#readers = cast.readers
    this.#changer = cast.changer
  }

  /** Resolves when all are at work. */
  static async start({
    feed,
    url,
    folder,
    seed,
    sizes,
  }: {
    readonly feed: FeedName
    readonly url: string
    /** For logs. */
    readonly folder: string
    readonly seed: number
    readonly sizes: CastSizes
  }): Promise<OrderCast> {
    const { writerProcesses, lanesEach } = sizes
    const writers = Array.from({ length: writerProcesses }, (_, process) => {
      const log = join(folder, `writer-${process}.log`)
      const lanes = Array.from({ length: lanesEach }, (_lane, lane) => process * lanesEach + lane)
      const task = { feed, url: named(url, ROLES.writer), seed, lanes, log }
      return { process: startWriter(task), log }
    })
    const readers = Array.from({ length: sizes.readers }, (_, reader) => {
      const log = join(folder, `reader-${reader}.log`)
      const pageSizes = PAGE_SIZES[reader % PAGE_SIZES.length] ?? []
      const task = { feed, url: named(url, ROLES.reader), seed: seed + reader, pageSizes, log }
      return { process: startReader(task), log }
    })
    // The naive table has no ranges.
    const changer =
      feed === 'tidemark'
        ? startChanger({ feed, url: named(url, ROLES.changer), seed: seed + 100 })
        : undefined
    const cast = new OrderCast({ writers, readers, changer })
    try {
      for (const { process } of writers) await process.receive('started')
      for (const { process } of readers) await process.receive('started')
      await changer?.receive('started')
    } catch (error) {
      await cast.end()
      throw error
    }
    return cast
  }

  /** How much each writer and each reader has done: grows with every write and every page. */
  progress(): readonly number[] {
    return [...this.#writers, ...this.#readers].map(({ log }) => sizeOf(log))
  }

  acknowledged(): readonly AcknowledgedWrite[] {
    return this.#writers.flatMap(({ log }) => readAcknowledged(log))
  }

  /** Rejects with what a process said that ended by itself. */
  assertAlive(): void {
    for (const { process } of [...this.#writers, ...this.#readers]) process.assertAlive()
    this.#changer?.assertAlive()
  }

  /** Stops the writing, has the readers read to the end, and resolves when all processes have ended. */
  async finish(): Promise<CastReport> {
    this.#changer?.tell('stop')
    const changes = await this.#changer?.receive('changed')
    for (const { process } of this.#writers) process.tell('stop')
    let unknownOutcomes = 0
    for (const { process } of this.#writers) {
      unknownOutcomes += (await process.receive('written')).unknownOutcomes
    }
    for (const { process } of this.#readers) process.tell('stop')
    const readers: { pages: readonly SeenPage[]; reopened: number }[] = []
    for (const { process, log } of this.#readers) {
      const { reopened } = await process.receive('caughtUp')
      await process.finished()
      readers.push({ pages: readPages(log), reopened })
    }
    for (const { process } of this.#writers) await process.finished()
    await this.#changer?.finished()
    return { acknowledged: this.acknowledged(), unknownOutcomes, readers, changes }
  }

  /** For cleaning up. */
  async end(): Promise<void> {
    for (const { process } of [...this.#writers, ...this.#readers]) await process.end()
    await this.#changer?.end()
  }
}

function startWriter(task: OrderWriterTask): CampaignProcess<OrderWriterMessage> {
  return new CampaignProcess(new URL('writer.child.ts', import.meta.url), task)
}

function startReader(task: OrderReaderTask): CampaignProcess<OrderReaderMessage> {
  return new CampaignProcess(new URL('reader.child.ts', import.meta.url), task)
}

function startChanger(task: OrderChangerTask): CampaignProcess<OrderChangerMessage> {
  return new CampaignProcess(new URL('changer.child.ts', import.meta.url), task)
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTestedEngine as openPostgresEngine } from '@tidemark/engine-postgres/testing'
import { openTestedEngine as openSqliteEngine } from '@tidemark/engine-sqlite/testing'
import { Store, type Collection, type Database, type StorageEngine } from '@tidemark/store'
import type { DatabaseEngine } from '@tidemark/store/engine'
import { openMemoryEngine } from '@tidemark/testing'
import { EngineProcess } from './engine-process.ts'
import { ModelClock } from './model-clock.ts'
import type { ProgramSettings } from './program.ts'
import { SEGMENT_SLOTS } from './segment-slots.ts'

export type EngineName = 'memory' | 'sqlite' | 'postgres'

/** Which engine programs run on, and where it is. */
export type ModelPlace =
  | { readonly engine: 'memory' | 'sqlite' }
  /** `url`: of a database in which each environment makes a schema of its own. */
  | { readonly engine: 'postgres'; readonly url: string }

/** A store in memory has one handle; others have two in this process, and a folder one more in another process. */
const HANDLES = {
  memory: ['own'],
  sqlite: ['own', 'process', 'own'],
  postgres: ['own', 'own'],
} as const

export function handlesOf(engine: EngineName): number {
  return HANDLES[engine].length
}

export interface ModelDocument {
  readonly id: string
  readonly pk: string
  readonly n: number
  readonly u?: string | undefined
  readonly ttl?: unknown
  readonly [property: string]: unknown
}

export type ModelCollection = Collection<ModelDocument>

const DATABASE = 'model'
/** 2026-01-01T00:00:00Z */
const FIRST_MS = 1_767_225_600_000
/** Between programs, so that none begins below what the one before it did. */
const REST_MS = 60_000

/** Where programs run, one after the other: a store with one to three handles, and a collection a program. */
export class Environment {
  readonly #place: ModelPlace
  readonly #clock = new ModelClock()
  #folder: string | undefined
  readonly #schema = `model_${randomUUID().replaceAll('-', '')}`
  #stores: Store[] = []
  #process: EngineProcess | undefined
  /** Of the store's clock, which a step back does not stop. */
  #highestMs = FIRST_MS
  #programs = 0

  constructor(place: ModelPlace) {
    this.#place = place
  }

  /** Makes a collection for a program. */
  async begin(settings: ProgramSettings): Promise<Stage> {
    const second = Math.ceil(this.#highestMs / 1000) * 1000 + REST_MS
    this.#clock.setTo(second + settings.startOffsetMs)
    this.#highestMs = this.#clock.wallMs()
    if (this.#place.engine === 'memory') await this.close()
    await this.#openStores()
    const id = `c${++this.#programs}`
    const { defaultTtl, retentionSeconds, allVersions, partitionCount, hasUniqueKey } = settings
    const uniqueKeys = hasUniqueKey === true ? [['/u']] : undefined
    const collection = {
      partitionKey: '/pk',
      partitionCount,
      defaultTtl,
      allVersions,
      uniqueKeys,
      id,
    }
    const database = this.store(0).database(DATABASE)
    await database.createCollectionIfNotExists({
      ...collection,
      pendingDeletes: { retentionSeconds },
    })
    return Stage.open(this, id)
  }

  get handles(): number {
    return this.#stores.length
  }

  get wallMs(): number {
    return this.#clock.wallMs()
  }

  stepTo(wallMs: number): void {
    const passedMs = Math.max(0, wallMs - this.#clock.wallMs())
    this.#clock.stepTo(wallMs)
    this.#highestMs = Math.max(this.#highestMs + passedMs, wallMs)
  }

  store(via: number): Store {
    const store = this.#stores[via % this.#stores.length]
    if (store === undefined) throw new RangeError('the environment is closed')
    return store
  }

  /** Closes one handle and opens it again; in memory there would be nothing left. */
  async reopen(via: number): Promise<void> {
    if (this.#place.engine === 'memory') return
    const index = via % this.#stores.length
    await this.store(index).close()
    this.#stores[index] = await this.#openStore(index)
  }

  async close(): Promise<void> {
    for (const store of this.#stores) await store.close()
    this.#stores = []
    await this.#process?.end()
    this.#process = undefined
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true })
    this.#folder = undefined
  }

  async #openStores(): Promise<void> {
    if (this.#stores.length > 0) return
    const { engine } = this.#place
    if (engine === 'sqlite') this.#folder = await mkdtemp(join(tmpdir(), 'tidemark-model-'))
    for (let index = 0; index < handlesOf(engine); index++) {
      this.#stores.push(await this.#openStore(index))
    }
  }

  async #openStore(index: number): Promise<Store> {
    const clock = this.#clock
    return Store.open({ engine: await this.#openEngine(index), maintenance: 'manual', clock })
  }

  async #openEngine(index: number): Promise<StorageEngine> {
    const clock = this.#clock
    const segmentSlots = SEGMENT_SLOTS
    if (this.#place.engine === 'postgres') {
      return openPostgresEngine({
        url: this.#place.url,
        schema: this.#schema,
        storeTime: 'process',
        segmentSlots,
        clock,
      })
    }
    if (this.#folder === undefined) return openMemoryEngine({ clock })
    if (HANDLES[this.#place.engine][index] === 'process') {
      this.#process ??= new EngineProcess(clock)
      return this.#process.open(this.#folder)
    }
    const machineMs = (): number => clock.monotonicMs()
    const folder = this.#folder
    return openSqliteEngine({ folder, durability: 'relaxed', segmentSlots, clock, machineMs })
  }
}

/** What one program works on. */
export class Stage {
  readonly environment: Environment
  readonly collectionId: string
  #collections: ModelCollection[] = []
  #engines: DatabaseEngine[] = []

  private constructor(environment: Environment, collectionId: string) {
    this.environment = environment
    this.collectionId = collectionId
  }

  static async open(environment: Environment, collectionId: string): Promise<Stage> {
    const stage = new Stage(environment, collectionId)
    await stage.#find()
    return stage
  }

  collection(via: number): ModelCollection {
    const found = this.#collections[via % this.#collections.length]
    if (found === undefined) throw new RangeError('no collection')
    return found
  }

  engine(via: number): DatabaseEngine {
    const found = this.#engines[via % this.#engines.length]
    if (found === undefined) throw new RangeError('no engine')
    return found
  }

  async reopen(via: number): Promise<void> {
    await this.environment.reopen(via)
    await this.#find()
  }

  /** Has the store's clock remember the present, so that it may be set back. */
  async keepTime(): Promise<void> {
    const database = this.environment.store(0).database(DATABASE)
    const ticks = await database.createCollectionIfNotExists({ id: 'ticks', partitionKey: '/id' })
    await ticks.upsert({ id: 'tick' })
  }

  database(via: number): Database {
    return this.environment.store(via).database(DATABASE)
  }

  async check(via: number): Promise<readonly string[]> {
    return this.database(via).check()
  }

  async end(): Promise<void> {
    await this.environment.store(0).database(DATABASE).deleteCollection(this.collectionId)
  }

  async #find(): Promise<void> {
    this.#collections = []
    this.#engines = []
    for (let via = 0; via < this.environment.handles; via++) {
      const database = this.environment.store(via).database(DATABASE)
      const collection = database.collection<ModelDocument>(this.collectionId)
      this.#collections.push(collection)
      this.#engines.push((await collection.open()).engine)
    }
  }
}

import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTestedEngine as openPostgresEngine } from '@tidemark/engine-postgres/testing'
import { openTestedEngine as openSqliteEngine } from '@tidemark/engine-sqlite/testing'
import type { StorageEngine } from '@tidemark/store'
import type { MessageEngine } from '@tidemark/store/messages'
import { openMemoryEngine, SteppedClock } from '@tidemark/testing'
import type { ModelPlace } from '../environment.ts'

const DATABASE = 'messages'
const SEGMENT_SLOTS = 5_000

/** Where programs run, one after the other: in memory one handle, otherwise two on one store. */
export class MessagingEnvironment {
  readonly clock: SteppedClock = new SteppedClock()
  readonly #place: ModelPlace
  readonly #schema = `messages_${randomUUID().replaceAll('-', '')}`
  #folder: string | undefined
  #engines: StorageEngine[] = []

  constructor(place: ModelPlace) {
    this.#place = place
  }

  /** Opens what is not open. */
  async begin(): Promise<void> {
    if (this.#engines.length > 0) return
    if (this.#place.engine === 'sqlite') {
      this.#folder = await mkdtemp(join(tmpdir(), 'tidemark-messages-'))
    }
    for (let index = 0; index < (this.#place.engine === 'memory' ? 1 : 2); index++) {
      this.#engines.push(await this.#open())
    }
    await this.#engines[0]?.createDatabase(DATABASE)
  }

  async messages(via: number): Promise<MessageEngine> {
    return (await this.#database(via)).messages
  }

  async check(): Promise<readonly string[]> {
    return (await this.#database(0)).check()
  }

  /** Closes one handle and opens it again; in memory there would be nothing left. */
  async reopen(via: number): Promise<void> {
    if (this.#place.engine === 'memory') return
    const index = via % this.#engines.length
    await this.#engines[index]?.close()
    this.#engines[index] = await this.#open()
  }

  async close(): Promise<void> {
    for (const engine of this.#engines) await engine.close()
    this.#engines = []
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true })
    this.#folder = undefined
  }

  #database(via: number): ReturnType<StorageEngine['openDatabase']> {
    const engine = this.#engines[via % this.#engines.length]
    if (engine === undefined) throw new RangeError('the environment is closed')
    return engine.openDatabase(DATABASE)
  }

  #open(): Promise<StorageEngine> | StorageEngine {
    const { clock } = this
    if (this.#place.engine === 'postgres') {
      return openPostgresEngine({
        url: this.#place.url,
        schema: this.#schema,
        storeTime: 'process',
        segmentSlots: SEGMENT_SLOTS,
        clock,
      })
    }
    if (this.#folder === undefined) return openMemoryEngine({ clock })
    return openSqliteEngine({
      folder: this.#folder,
      durability: 'relaxed',
      segmentSlots: SEGMENT_SLOTS,
      clock,
    })
  }
}

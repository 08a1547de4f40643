import { PgBoss } from 'pg-boss'
import { MessageBodies, type Body } from '../../messaging/message-bodies.ts'
import type { CalledQueue } from '../../messaging/queue-rates.ts'

const QUEUE = 'work'

/** A queue of pg-boss, with its defaults but without its upkeep in the background. */
export class PgBossQueue implements CalledQueue {
  readonly #boss: PgBoss
  readonly #bodies = new MessageBodies()

  private constructor(boss: PgBoss) {
    this.#boss = boss
  }

  static async create(url: string, connections: number): Promise<PgBossQueue> {
    const boss = new PgBoss({
      connectionString: url,
      max: connections,
      supervise: false,
      schedule: false,
    })
    boss.on('error', (error) => console.error(error))
    await boss.start()
    await boss.createQueue(QUEUE)
    return new PgBossQueue(boss)
  }

  async send(count: number): Promise<void> {
    if (count === 1) await this.#boss.send(QUEUE, this.#bodies.one())
    else
      await this.#boss.insert(
        QUEUE,
        this.#bodies.many(count).map((data) => ({ data })),
      )
  }

  async take(count: number): Promise<number> {
    const jobs = await this.#boss.fetch<Body>(QUEUE, { batchSize: count })
    if (jobs.length > 0)
      await this.#boss.complete(
        QUEUE,
        jobs.map(({ id }) => id),
      )
    return jobs.length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#boss.stop({ graceful: false })
  }
}

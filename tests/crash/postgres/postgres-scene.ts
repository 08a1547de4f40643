import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgresProcess, type PostgresProcess } from '@tidemark/testing/servers'
import type { CrashScene, RoundPlan, Writing } from '../crash-scene.ts'
import { databaseOf, serverStart, terminateConnections } from './server-faults.ts'

/** How rounds end, in turn; the writers are killed in each of them at last. */
const ENDINGS = ['writers die', 'connections ended', 'immediate restart', 'server killed'] as const
type Ending = (typeof ENDINGS)[number]

const MIN_TERMINATING_MS = 400
const MAX_TERMINATING_MS = 900
const TERMINATE_EVERY_MS = 25
/** How long everybody goes on after a fault. */
const AFTERWARDS_MS = 60
const GO_ON_LIMIT_MS = 25_000
const SETTLE_LIMIT_MS = 20_000

/** A durable PostgreSQL of its own, which is hurt in different ways while others write. */
export class PostgresScene implements CrashScene, AsyncDisposable {
  readonly #server: PostgresProcess
  readonly #url: string
  #terminated = 0
  #restarts = 0
  #kills = 0

  private constructor(server: PostgresProcess, url: string) {
    this.#server = server
    this.#url = url
  }

  static async start(): Promise<PostgresScene> {
    const server = await startPostgresProcess({ durable: true })
    try {
      return new PostgresScene(server, await server.createDatabase())
    } catch (error) {
      await server[Symbol.asyncDispose]()
      throw error
    }
  }

  plan(round: number): RoundPlan {
    // Every ending with one writing process and with two, followed and not.
    const turn = Math.floor(round / ENDINGS.length)
    const url = new URL(this.#url)
    // Half of the rounds with a server whose commits need not be durable: an acknowledged one has to be.
    const synchronousCommit = (round + turn) % 2 === 0 ? 'on' : 'off'
    url.searchParams.set('options', `-c synchronous_commit=${synchronousCommit}`)
    return {
      place: { kind: 'postgres', url: url.href },
      shares: (round + turn) % 3 === 2 ? 2 : 1,
      followed: (round + turn) % 2 === 1 || turn % 3 === 2,
      description: `${endingOf(round)}, synchronous_commit ${synchronousCommit}`,
    }
  }

  async disturb(round: number, writing: Writing): Promise<void> {
    switch (endingOf(round)) {
      case 'writers die':
        return
      case 'connections ended':
        return this.#terminate(writing)
      case 'immediate restart':
        await this.#newStart(() => this.#server.restart('immediate'))
        this.#restarts++
        return untilAllGoOn(writing)
      case 'server killed':
        await this.#newStart(async () => {
          await this.#server.kill()
          await this.#server.start()
        })
        this.#kills++
        return untilAllGoOn(writing)
    }
  }

  /** A statement of a dead process is carried out to its end by the server. */
  async settle(): Promise<void> {
    const endMs = performance.now() + SETTLE_LIMIT_MS
    const text = `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = $1 AND backend_type = 'client backend' AND pid <> pg_backend_pid()`
    for (;;) {
      const [row] = await this.#server.query(text, { values: [databaseOf(this.#url)] })
      if (row?.['count'] === 0) return
      if (performance.now() > endMs) throw new Error(`${String(row?.['count'])} connections stay`)
      await sleep(10)
    }
  }

  totals(rounds: number): readonly (readonly [what: string, count: number])[] {
    const totals: readonly (readonly [what: string, count: number])[] = [
      ['connections ended', this.#terminated],
      ['immediate restarts', this.#restarts],
      ['server kills', this.#kills],
    ]
    // Short runs do not come to all of them.
    return totals.slice(0, Math.max(0, Math.min(rounds, ENDINGS.length) - 1))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]()
  }

  async #terminate(writing: Writing): Promise<void> {
    const { chance } = writing
    const forMs = MIN_TERMINATING_MS + chance() * (MAX_TERMINATING_MS - MIN_TERMINATING_MS)
    const before = writing.progress()
    const ended = await terminateConnections(this.#server, {
      database: databaseOf(this.#url),
      everyMs: TERMINATE_EVERY_MS,
      chance,
      signal: AbortSignal.timeout(Math.round(forMs)),
    })
    for (const count of ended.values()) this.#terminated += count
    await untilAllGoOn(writing, before)
  }

  async #newStart(restart: () => Promise<void>): Promise<void> {
    const before = await serverStart(this.#server)
    await restart()
    if ((await serverStart(this.#server)) === before) throw new Error('the server did not restart')
  }
}

function endingOf(round: number): Ending {
  return ENDINGS[round % ENDINGS.length] ?? 'writers die'
}

/** Every writing process goes on by itself. */
async function untilAllGoOn(writing: Writing, before = writing.progress()): Promise<void> {
  const endMs = performance.now() + GO_ON_LIMIT_MS
  for (;;) {
    writing.assertAlive()
    if (writing.progress().every((size, index) => size > (before[index] ?? 0))) break
    if (performance.now() > endMs) throw new Error(`a writer did nothing for ${GO_ON_LIMIT_MS} ms`)
    await sleep(5)
  }
  await sleep(AFTERWARDS_MS * writing.chance())
}

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ensurePgBouncer } from './ensure-pgbouncer.ts'
import { freePort } from './free-port.ts'
import { KillAtExit } from './kill-at-exit.ts'
import { makeServerFolder, runAs } from './postgres-data-folder.ts'
import { queryAt } from './postgres-query.ts'

const START_ATTEMPTS = 3
const START_LIMIT_MS = 15_000

export interface PgBouncerOptions {
  /** Settings of the section `[pgbouncer]`. They win over the kit's own. @default none */
  readonly settings?: Readonly<Record<string, string>> | undefined
}

interface Place {
  readonly port: number
  readonly folder: string
  readonly version: readonly [major: number, minor: number]
}

/**
 * A PgBouncer of its own on a loopback port, in front of one server and in transaction mode unless its settings say
 * otherwise; every user is let in, as `postgres`. It is killed when this process ends.
 */
export class PgBouncer implements AsyncDisposable {
  readonly host = '127.0.0.1'
  readonly port: number
  readonly version: readonly [major: number, minor: number]
  readonly #folder: string
  readonly #child: ChildProcess

  /** Use `startPgBouncer`. */
  constructor({ port, folder, version }: Place, child: ChildProcess) {
    this.port = port
    this.version = version
    this.#folder = folder
    this.#child = child
  }

  /** @default the database `postgres` */
  url(database = 'postgres'): string {
    return `postgres://postgres@${this.host}:${this.port}/${database}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isRunning()) {
      const gone = once(this.#child, 'exit')
      this.#child.kill('SIGKILL')
      await gone
    }
    await rm(this.#folder, { recursive: true, force: true })
  }

  #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  async #answers(): Promise<boolean> {
    const limit = Date.now() + START_LIMIT_MS
    while (this.#isRunning() && Date.now() < limit) {
      const rows = await queryAt(this.url(), 'SELECT 1 AS one').catch(() => [])
      if (rows[0]?.['one'] === 1) return true
      await sleep(20)
    }
    return false
  }

  /** Starts one; tries again on another port when someone was faster on the first. */
  static async launch(
    server: { readonly host: string; readonly port: number },
    { settings = {} }: PgBouncerOptions,
  ): Promise<PgBouncer> {
    const { path, version } = await ensurePgBouncer()
    for (let attempt = 1; ; attempt += 1) {
      const place = { port: await freePort(), folder: await makeServerFolder(), version }
      const file = join(place.folder, 'pgbouncer.ini')
      await writeFile(file, configuration(server, place, settings))
      const child = spawn(path, [file], { stdio: 'ignore', cwd: place.folder, ...runAs() })
      new KillAtExit().add(child)
      await once(child, 'spawn')
      const started = new PgBouncer(place, child)
      if (await started.#answers()) return started
      const log = await readFile(join(place.folder, 'pgbouncer.log'), 'utf8').catch(() => '')
      await started[Symbol.asyncDispose]()
      if (attempt < START_ATTEMPTS) continue
      throw new Error(`pgbouncer did not start:\n${log.trim().split('\n').slice(-5).join('\n')}`)
    }
  }
}

function configuration(
  { host, port }: { readonly host: string; readonly port: number },
  place: Place,
  settings: Readonly<Record<string, string>>,
): string {
  const own = {
    listen_addr: '127.0.0.1',
    listen_port: String(place.port),
    unix_socket_dir: '',
    logfile: join(place.folder, 'pgbouncer.log'),
    auth_type: 'any',
    pool_mode: 'transaction',
    ...settings,
  }
  const lines = Object.entries(own).map(([name, value]) => `${name} = ${value}`)
  const database = `* = host=${host} port=${port} user=postgres`
  return ['[databases]', database, '[pgbouncer]', ...lines, ''].join('\n')
}

/** Starts a PgBouncer for tests: `await using pooler = await startPgBouncer(server)`. */
export function startPgBouncer(
  server: { readonly host: string; readonly port: number },
  options: PgBouncerOptions = {},
): Promise<PgBouncer> {
  return PgBouncer.launch(server, options)
}

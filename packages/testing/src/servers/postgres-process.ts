import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { copyPrimary } from './base-backup.ts'
import { DeathWatch } from './death-watch.ts'
import { ensurePostgresServer } from './ensure-postgres-server.ts'
import { isExecutable } from './executables.ts'
import { freePort } from './free-port.ts'
import { makeDataFolder, makeServerFolder, runAs } from './postgres-data-folder.ts'
import {
  postgresAt,
  settingArguments,
  settingsOf,
  type PostgresQueryOptions,
  type PostgresServer,
  type PostgresServerOptions,
} from './postgres-server.ts'
import { processesGone, signalIfAlive, stopProcessTree } from './process-tree.ts'

const run = promisify(execFile)

const HOST = '127.0.0.1'
const START_ATTEMPTS = 3
const START_LIMIT_MS = 30_000
const STOP_LIMIT_MS = 30_000
const REPLAY_LIMIT_MS = 30_000

/** `fast`: open transactions are rolled back. `immediate`: like a crash, the next start recovers. */
export type PostgresStopMode = 'fast' | 'immediate'

export interface PostgresProcessOptions extends Omit<PostgresServerOptions, 'image'> {
  /**
   * The folder of an earlier server, to start on its data; the caller's, so it is not removed.
   * @default a new one in the folder for temporary files, removed with the server
   */
  readonly folder?: string | undefined
  /** Port of the server. @unit port @range 1 to 65_535 @default one that is free */
  readonly port?: number | undefined
}

interface Place {
  readonly programs: string
  readonly port: number
  readonly folder: string
  /** Whose folder it is decides who removes it. */
  readonly ownsFolder: boolean
  readonly settings: Readonly<Record<string, string>>
}

interface ServerProcess {
  readonly child: ChildProcess
  readonly deathWatch: DeathWatch
}

/**
 * A PostgreSQL of its own on a loopback port; superuser `postgres` without password. It is killed when this process
 * ends, in whatever way. As root its processes run as `nobody`.
 */
export class PostgresProcess implements PostgresServer {
  readonly host: string = HOST
  readonly port: number
  /** Holds `data`, the log `server.log`, and the unix socket. */
  readonly folder: string
  readonly #place: Place
  #process: ServerProcess
  /** Children that are stopped. */
  #paused: readonly number[] = []

  /** Use `startPostgresProcess`. */
  constructor(place: Place, started: ServerProcess) {
    this.port = place.port
    this.folder = place.folder
    this.#place = place
    this.#process = started
  }

  get running(): boolean {
    const { child } = this.#process
    return child.exitCode === null && child.signalCode === null
  }

  /** Of the parent of all its processes. */
  get pid(): number | undefined {
    return this.#process.child.pid
  }

  /** @default the database `postgres` */
  url(database = 'postgres'): string {
    return postgresAt(this).url(database)
  }

  /** A new empty database with a name of its own. Resolves with its URL. */
  createDatabase(): Promise<string> {
    return postgresAt(this).createDatabase()
  }

  /** Runs one statement on a connection of its own and resolves with its rows. */
  query(text: string, options?: PostgresQueryOptions): Promise<Record<string, unknown>[]> {
    return postgresAt(this).query(text, options)
  }

  /** Resolves when its processes are gone. The data stays: `start` goes on with them. */
  async stop(mode: PostgresStopMode = 'fast'): Promise<void> {
    if (!this.running) return
    this.resume()
    const gone = once(this.#process.child, 'exit').then(() => true)
    this.#process.child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    if (await Promise.race([gone, sleep(STOP_LIMIT_MS, false, { ref: false })])) return
    await this.kill()
    throw new Error(`postgres did not stop (${mode}) within ${STOP_LIMIT_MS} ms and was killed`)
  }

  /** Ends all its processes at once by SIGKILL, and resolves when they are gone, so that `start` can follow. */
  async kill(): Promise<void> {
    const { pid } = this
    if (!this.running || pid === undefined) return
    const gone = once(this.#process.child, 'exit')
    // Stopped first, so that there is a moment at which all its children are known.
    const children = await stopProcessTree(pid)
    this.#process.child.kill('SIGKILL')
    for (const child of children) signalIfAlive(child, 'SIGKILL')
    await gone
    this.#setPaused([])
    await processesGone(children)
  }

  /** Same port, same folder, same settings; one that does not run is only started. */
  async restart(mode: PostgresStopMode = 'fast'): Promise<void> {
    await this.stop(mode)
    await this.start()
  }

  /** Starts a stopped or killed server again. Resolves when it answers. */
  async start(): Promise<void> {
    if (this.running) return
    this.#process = await spawnServer(this.#place)
    if (!(await this.#answers())) throw await this.#notStarted()
  }

  /** Stops all its processes in their tracks: connections stay open and nothing answers. */
  async pause(): Promise<void> {
    const { pid } = this
    if (!this.running || pid === undefined) return
    this.#setPaused(await stopProcessTree(pid))
  }

  resume(): void {
    for (const pid of this.#paused) signalIfAlive(pid, 'SIGCONT')
    this.#setPaused([])
    this.#process.child.kill('SIGCONT')
  }

  /** Makes a replica a primary. Resolves when it takes writes. */
  async promote(): Promise<void> {
    const [row] = await this.query('SELECT pg_promote(true, 60) AS promoted')
    if (row?.['promoted'] !== true) throw new Error('the replica was not promoted within 60 s')
  }

  /** Resolves when this replica shows everything that `primary` had committed when this was called. */
  async caughtUpWith(primary: PostgresServer): Promise<void> {
    // A mark of our own after the commits: the position of an idle log may be one that no replica ever reports.
    const [row] = await primary.query(
      "SELECT pg_logical_emit_message(true, 'tidemark', '')::text AS lsn",
    )
    const limit = Date.now() + REPLAY_LIMIT_MS
    while (Date.now() < limit) {
      const [answer] = await this.query('SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS done', {
        values: [row?.['lsn']],
      })
      if (answer?.['done'] === true) return
      await sleep(10)
    }
    throw new Error(`the replica did not catch up within ${REPLAY_LIMIT_MS} ms`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    if (this.#place.ownsFolder) await rm(this.folder, { recursive: true, force: true })
  }

  /** False when the process ended before it answered, or in time. */
  async #answers(): Promise<boolean> {
    const limit = Date.now() + START_LIMIT_MS
    while (this.running && Date.now() < limit) {
      // Another server may have taken the port: only the one on our data is ours.
      const rows = await this.query('SHOW data_directory').catch(() => [])
      if (rows[0]?.['data_directory'] === join(this.folder, 'data')) return true
      await sleep(20)
    }
    return false
  }

  async #notStarted(): Promise<Error> {
    await this.kill()
    const log = await readFile(logOf(this.folder), 'utf8').catch(() => '')
    const last = log.trim().split('\n').slice(-5).join('\n')
    return new Error(`postgres did not start on port ${this.port} in ${this.folder}:\n${last}`)
  }

  #setPaused(pids: readonly number[]): void {
    this.#paused = pids
    // Children end when they see that their parent has; stopped ones do not see it.
    const { pid } = this
    if (pid !== undefined && this.running) this.#process.deathWatch.watch([pid, ...pids])
  }

  /** Starts a server; tries again on another port when someone was faster on the first. */
  static async launch(
    options: PostgresProcessOptions,
    fill: (programs: string, data: string) => Promise<void>,
  ): Promise<PostgresProcess> {
    const programs = await ensurePostgresServer()
    const folder = options.folder ?? (await makeServerFolder())
    const ownsFolder = options.folder === undefined
    try {
      if (!existsSync(join(folder, 'data', 'PG_VERSION'))) {
        await mkdir(folder, { recursive: true })
        await fill(programs, join(folder, 'data'))
      }
      for (let attempt = 1; ; attempt += 1) {
        const port = options.port ?? (await freePort())
        const place = {
          programs,
          port,
          folder,
          ownsFolder,
          settings: { listen_addresses: HOST, ...settingsOf(options) },
        }
        const server = new PostgresProcess(place, await spawnServer(place))
        if (await server.#answers()) return server
        const failure = await server.#notStarted()
        if (options.port !== undefined || attempt >= START_ATTEMPTS) throw failure
      }
    } catch (error) {
      if (ownsFolder) await rm(folder, { recursive: true, force: true })
      throw error
    }
  }
}

/**
 * Starts a PostgreSQL on this machine, for tests that kill, pause, restart or replicate it:
 * `await using server = await startPostgresProcess()`.
 */
export function startPostgresProcess(
  options: PostgresProcessOptions = {},
): Promise<PostgresProcess> {
  return PostgresProcess.launch(options, makeDataFolder)
}

/**
 * Starts a hot standby that streams from `primary`, which may also be a `TcpProxy` in front of one. It takes reads
 * only, until `promote`. Settings of the primary that a standby must share (`max_connections`) are the caller's to repeat.
 */
export function startPostgresReplica(
  primary: { readonly host: string; readonly port: number },
  options: PostgresProcessOptions = {},
): Promise<PostgresProcess> {
  return PostgresProcess.launch(options, async (programs, data) => {
    if (!(await isExecutable(join(programs, 'pg_basebackup')))) return copyPrimary(primary, data)
    const from = ['--host', primary.host, '--port', String(primary.port), '--username', 'postgres']
    const how = ['--write-recovery-conf', '--checkpoint=fast', '--wal-method=stream', '--no-sync']
    await run(join(programs, 'pg_basebackup'), [...from, ...how, '--pgdata', data], {
      cwd: join(data, '..'),
      ...runAs(),
    })
  })
}

function logOf(folder: string): string {
  return join(folder, 'server.log')
}

async function spawnServer({ programs, port, folder, settings }: Place): Promise<ServerProcess> {
  const flags = settingArguments({ ...settings, unix_socket_directories: folder })
  const log = await open(logOf(folder), 'a')
  try {
    // A direct child, not a daemon: it can be killed by its id, and is waited for by this process.
    const child = spawn(
      join(programs, 'postgres'),
      ['-D', join(folder, 'data'), '-p', String(port), ...flags],
      { cwd: folder, stdio: ['ignore', log.fd, log.fd], ...runAs() },
    )
    const deathWatch = new DeathWatch()
    if (child.pid !== undefined) deathWatch.watch([child.pid])
    child.once('exit', () => deathWatch.end())
    await once(child, 'spawn')
    return { child, deathWatch }
  } finally {
    await log.close()
  }
}

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { ensureRedisServer } from './ensure-redis-server.ts'
import { freePort } from './free-port.ts'
import { KillAtExit } from './kill-at-exit.ts'
import {
  connectAdmin,
  NOT_PERSISTENT,
  type RedisServer,
  type RedisServerOptions,
} from './redis-server.ts'

const START_ATTEMPTS = 3
const START_LIMIT_MS = 15_000

export interface RedisProcessOptions extends Pick<RedisServerOptions, 'args'> {
  /** Shares one exit listener among several servers. @default one of its own */
  readonly killAtExit?: KillAtExit | undefined
  /**
   * A first argument that names a configuration file; the rest of the command line is then only `args`.
   * @default none
   */
  readonly configFile?: ((place: { dir: string; port: number }) => Promise<string>) | undefined
}

/**
 * A `redis-server` process of its own on a free loopback port, without persistence unless its
 * arguments say so. It is killed when this process exits; `stop` also removes its files.
 */
export class RedisProcess implements RedisServer {
  readonly host = '127.0.0.1'
  readonly port: number
  /** Working folder: append-only files and the like. */
  readonly dir: string
  /** A connection for the test's own commands. It survives restarts. */
  readonly admin: Redis
  readonly #command: readonly string[]
  readonly #killAtExit: KillAtExit
  #child: ChildProcess

  /** Use `startRedisProcess`. */
  constructor(running: {
    port: number
    dir: string
    command: readonly string[]
    child: ChildProcess
    killAtExit: KillAtExit
  }) {
    this.port = running.port
    this.dir = running.dir
    this.#command = running.command
    this.#killAtExit = running.killAtExit
    this.#child = running.child
    this.admin = connectAdmin(this)
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Resolves when the process is gone. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.running) return
    const gone = once(this.#child, 'exit')
    this.#child.kill(signal)
    await gone
  }

  /** Stops the process in its tracks: connections stay open and nothing answers. */
  pause(): void {
    this.#child.kill('SIGSTOP')
  }

  resume(): void {
    this.#child.kill('SIGCONT')
  }

  /** Starts a killed server again: same port, same folder, same arguments. Resolves when it answers. */
  async start(): Promise<void> {
    if (this.running) return
    this.#child = await spawnServer(this.#command, this.#killAtExit)
    await this.#answers()
  }

  async stop(): Promise<void> {
    this.admin.disconnect()
    // A stopped process does not act on SIGTERM; SIGKILL always does.
    await this.kill('SIGKILL')
    await rm(this.dir, { recursive: true, force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** False when the process ended before it answered. */
  async #answers(): Promise<boolean> {
    const limit = Date.now() + START_LIMIT_MS
    while (this.running && Date.now() < limit) {
      const pong = await Promise.race([
        this.admin.ping().catch(() => ''),
        sleep(250, 'no answer', { ref: false }),
      ])
      if (pong === 'PONG') return true
      await sleep(10)
    }
    return false
  }

  /** Starts a server; tries again on another port when someone was faster on the first. */
  static async launch({
    args = [],
    killAtExit = new KillAtExit(),
    configFile,
  }: RedisProcessOptions = {}): Promise<RedisProcess> {
    const binary = await ensureRedisServer()
    for (let attempt = 1; ; attempt += 1) {
      const port = await freePort()
      const dir = await mkdtemp(join(tmpdir(), 'tidemark-redis-'))
      const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', dir]
      const own = configFile ? [await configFile({ dir, port })] : [...place, ...NOT_PERSISTENT]
      const command = [binary, ...own, ...args]
      const child = await spawnServer(command, killAtExit)
      const server = new RedisProcess({ port, dir, command, child, killAtExit })
      if (await server.#answers()) return server
      await server.stop()
      if (attempt >= START_ATTEMPTS) {
        throw new Error(`redis-server did not start: ${command.join(' ')}`)
      }
    }
  }
}

/**
 * Starts a `redis-server` on this machine, for tests that kill, pause or restart it:
 * `await using server = await startRedisProcess()`.
 */
export function startRedisProcess(options: RedisProcessOptions = {}): Promise<RedisProcess> {
  return RedisProcess.launch(options)
}

async function spawnServer(
  [binary = 'redis-server', ...args]: readonly string[],
  killAtExit: KillAtExit,
): Promise<ChildProcess> {
  // A direct child, not a daemon: it can be killed by its id, and is waited for by this process.
  const child = spawn(binary, args, { stdio: 'ignore' })
  killAtExit.add(child)
  await once(child, 'spawn')
  return child
}

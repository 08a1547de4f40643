import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ensureNatsServer, type EnsureNatsServerOptions } from './ensure-nats-server.ts'
import { KillAtExit } from './kill-at-exit.ts'

const START_LIMIT_MS = 15_000

interface Started {
  readonly child: ChildProcess
  readonly folder: string
  readonly url: string
  readonly version: string
}

/** A `nats-server` with JetStream on a free loopback port. It is killed when this process ends. */
export class NatsProcess implements AsyncDisposable {
  /** As in `nats://127.0.0.1:4222`. */
  readonly url: string
  /** As in `2.9.10`. */
  readonly version: string
  readonly #child: ChildProcess
  readonly #folder: string

  /** Use `startNatsProcess`. */
  constructor({ child, folder, url, version }: Started) {
    this.url = url
    this.version = version
    this.#child = child
    this.#folder = folder
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await kill(this.#child)
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** Starts one with its streams in a folder of its own: `await using server = await startNatsProcess()`. */
export async function startNatsProcess(
  options: EnsureNatsServerOptions = {},
): Promise<NatsProcess> {
  const { path, version } = await ensureNatsServer(options)
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-nats-'))
  const place = ['--addr', '127.0.0.1', '--port', '-1', '--ports_file_dir', folder]
  const child = spawn(path, [...place, '--jetstream', '--store_dir', join(folder, 'streams')], {
    stdio: 'ignore',
  })
  new KillAtExit().add(child)
  await once(child, 'spawn')
  try {
    return new NatsProcess({ child, folder, version, url: await readUrl(child, folder) })
  } catch (error) {
    await kill(child)
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** The server chooses its port, and writes it into a file once it listens there. */
async function readUrl(child: ChildProcess, folder: string): Promise<string> {
  const file = join(folder, `nats-server_${child.pid}.ports`)
  for (let waitedMs = 0; child.exitCode === null && waitedMs < START_LIMIT_MS; waitedMs += 20) {
    const text = await readFile(file, 'utf8').catch(() => '')
    const url = /"(nats:\/\/[^"]+)"/.exec(text)?.[1]
    if (url !== undefined) return url
    await sleep(20)
  }
  throw new Error('nats-server did not start')
}

import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '@tidemark/testing/simulation'
import { ServingProcess } from '../gateway/serving-process.ts'
import { signedHeaders } from '../gateway/signed-request.ts'
import { Bystander, percentile } from './bystander.ts'
import { ATTACKED_DOCS, ATTACKS, type Attack } from './hostile-attacks.ts'

export interface HostileRun {
  readonly seed: number
  /** In each two kinds of attack at once. */
  readonly rounds: number
  /** How long each of them takes at least; it also lasts until the other client was answered a few times. */
  readonly roundMs: number
  /** What the p99 of the other client's reads may be; how fast a machine is decides it, too. @default 2000 */
  readonly p99LimitMs?: number
}

export interface HostileResult {
  /** Connections of each kind of attack. */
  readonly connections: ReadonlyMap<string, number>
  /** Answers that attackers took, by status. */
  readonly statuses: ReadonlyMap<number, number>
  readonly findings: readonly string[]
  /** How long the reads of another client took meanwhile, in ms, the shortest first. */
  readonly readsMs: readonly number[]
}

/** Few of each, so that every limit is met. */
const SERVER_ARGS = [
  ['--max-connections', '200'],
  ['--max-requests', '20'],
  ['--max-waiting', '40'],
  ['--request-timeout', '4'],
  ['--max-wait', '2'],
].flat()
/** Not the one of the other client: Linux has all of them without being asked. */
const ATTACKERS = ['127.0.0.2', '127.0.0.3', '127.0.0.4']
const READS_OF_ROUND = 5
const REOPEN_MS = 10
const ANSWER_MS = 60_000
/** Sockets of the last moment. */
const FILES_SLACK = 12

/** Hostile clients with a key that may only read, or none, while another client reads a document. */
export async function runHostileConnections({
  seed,
  rounds,
  roundMs,
  p99LimitMs = 2000,
}: HostileRun): Promise<HostileResult> {
  if (process.platform !== 'linux') throw new Error('this needs the loopback addresses of Linux')
  await using server = await ServingProcess.start({ args: SERVER_ARGS })
  await fill(server)
  const before = await server.usage(ANSWER_MS)
  const crowd = new Crowd(server, new SeededRandom(seed))
  const headers = { 'x-ms-documentdb-partitionkey': '["x"]' }
  const bystander = new Bystander(server, { path: `${ATTACKED_DOCS}/d0`, headers })
  for (let round = 0; round < rounds && !server.hasEnded; round++) {
    await crowd.attack(round, Promise.all([sleep(roundMs), bystander.read(READS_OF_ROUND)]))
  }
  const { readsMs, wrong } = await bystander.stop()
  const findings = [
    ...judge(readsMs, wrong, p99LimitMs),
    ...(await aftermath(server, before.openFiles)),
  ]
  return { connections: crowd.connections, statuses: crowd.statuses, findings, readsMs }
}

function judge(readsMs: readonly number[], wrong: readonly string[], p99LimitMs: number): string[] {
  const p99 = percentile(readsMs, 0.99)
  return [
    ...(p99 <= p99LimitMs
      ? []
      : [`p99 of ${readsMs.length} reads of another client is ${p99} ms, above ${p99LimitMs}`]),
    ...(wrong.length === 0
      ? []
      : [`${wrong.length} of ${readsMs.length} reads of another client failed: ${wrong[0]}`]),
  ]
}

/** When they are gone nothing is left of them, and the server ends in order. */
async function aftermath(server: ServingProcess, filesBefore: number): Promise<string[]> {
  if (server.hasEnded) return [`the server ended: ${server.ending}`]
  let { openFiles } = await server.usage(ANSWER_MS)
  const untilMs = performance.now() + ANSWER_MS
  while (openFiles > filesBefore + FILES_SLACK && performance.now() < untilMs) {
    await sleep(100)
    openFiles = (await server.usage(ANSWER_MS)).openFiles
  }
  const leaks =
    openFiles > filesBefore + FILES_SLACK
      ? [`the server has ${openFiles} files and sockets open, ${filesBefore} before the attacks`]
      : []
  const code = await server.terminate()
  if (code === 0 && server.errors === '') return leaks
  return [...leaks, `asked to stop it ended with ${server.ending}`]
}

/** Everybody who attacks. */
class Crowd {
  readonly connections = new Map<string, number>()
  readonly statuses = new Map<number, number>()
  readonly #server: ServingProcess
  readonly #random: SeededRandom

  constructor(server: ServingProcess, random: SeededRandom) {
    this.#server = server
    this.#random = random
  }

  /** Two attacks at once, each kind in its turn beside any other. */
  async attack(round: number, until: Promise<unknown>): Promise<void> {
    const over = new AbortController()
    const attacks = [ATTACKS[round % ATTACKS.length]!, this.#random.pick(ATTACKS)]
    const running = attacks.flatMap((attack) =>
      Array.from({ length: attack.sockets }, () => this.#goOn(attack, over.signal)),
    )
    await until
    over.abort()
    await Promise.all(running)
  }

  async #goOn(attack: Attack, round: AbortSignal): Promise<void> {
    while (!round.aborted && !this.#server.hasEnded) {
      const socket = this.#open()
      const closed = new Promise((resolve) => socket.once('close', resolve))
      const end = (): void => void socket.destroy()
      round.addEventListener('abort', end)
      this.connections.set(attack.name, (this.connections.get(attack.name) ?? 0) + 1)
      await attack.act(socket, round)
      await closed
      round.removeEventListener('abort', end)
      await sleep(REOPEN_MS)
    }
  }

  #open(): Socket {
    const localAddress = this.#random.pick(ATTACKERS)
    const { port } = this.#server
    const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true })
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
      for (const [, status] of bytes.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
        this.statuses.set(Number(status), (this.statuses.get(Number(status)) ?? 0) + 1)
      }
    })
    socket.on('end', () => socket.end())
    return socket
  }
}

async function fill(server: ServingProcess): Promise<void> {
  await expectOk(server, '/dbs', { id: 'hostile' })
  await expectOk(server, '/dbs/hostile/colls', {
    id: 'items',
    partitionKey: { paths: ['/pk'] },
  })
  for (let n = 0; n < 8; n++) {
    const text = n === 0 ? '' : 'x'.repeat(250_000)
    await expectOk(server, ATTACKED_DOCS, { id: `d${n}`, pk: 'x', text })
  }
}

async function expectOk(server: ServingProcess, path: string, body: object): Promise<void> {
  const answer = await fetch(new URL(path, server.endpoint), {
    method: 'POST',
    headers: {
      ...signedHeaders({ method: 'POST', path }),
      'x-ms-documentdb-partitionkey': '["x"]',
    },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`a good POST ${path} is answered ${answer.status}: ${text}`)
}

import { Agent } from 'node:http'
import { ServingProcess } from '../gateway/serving-process.ts'
import { READ_ONLY_KEY, signedHeaders } from '../gateway/signed-request.ts'
import { Bystander, percentile } from './bystander.ts'
import type { FuzzOutcome } from './fuzz-outcome.ts'
import {
  BIG_TEXT,
  LONG_LIST,
  generateCostlyQuery,
  type CostlyQuery,
} from './generate/costly-queries.ts'
import { sendSigned } from './send-signed.ts'

export interface CostlyRun {
  readonly seed: number
  readonly from: number
  readonly queries: number
  /** What the p99 of the other client's reads may be; how fast a machine is decides it, too. @default 4000 */
  readonly p99LimitMs?: number
}

export interface CostlyResult {
  readonly statuses: ReadonlyMap<number, number>
  readonly findings: readonly CostlyFinding[]
  /** How long the reads of another client took meanwhile, in ms, the shortest first. */
  readonly readsMs: readonly number[]
  /** The most that the server computed between two turns of its event loop, in ms of its own time. */
  readonly longestStretchMs: number
}

export interface CostlyFinding {
  /** Undefined: no one query. */
  readonly index: number | undefined
  readonly what: string
}

const SERVER_ARGS = ['--request-timeout', '1', '--max-wait', '0']
/** An answer that takes longer hangs, however busy the machine is. */
const HANG_MS = 60_000
const CONCURRENT = 6
const DOCUMENTS = 10
const DOCS = '/dbs/costly/colls/items/docs'
/** What a query may be answered with: rows, too costly, out of time, too large, too many. */
const ALLOWED: ReadonlySet<number> = new Set([200, 400, 408, 413, 429])
/** Far above what is seen, for slow machines; without its limits one costly query takes minutes. */
const STRETCH_LIMIT_MS = 2000
/** Ends by its time limit at the earliest. */
const ENDLESS: CostlyQuery = {
  text: `SELECT VALUE COUNT(1) FROM c ${['p', 'q', 'r', 's'].map((name) => `JOIN ${name} IN c.list`).join(' ')}`,
  parameters: [],
  headers: {},
  over: 'documents',
}

/** Sends costly queries with a key that may only read, while another client reads documents. */
export async function runCostlyQueries({
  seed,
  from,
  queries,
  p99LimitMs = 4000,
}: CostlyRun): Promise<CostlyResult> {
  await using server = await ServingProcess.start({ args: SERVER_ARGS })
  await fill(server)
  server.watch()
  const attacker = new CostlyClient(server)
  const bystander = new Bystander(server, {
    path: `${DOCS}/d1`,
    headers: { 'x-ms-documentdb-partitionkey': '["x"]' },
  })
  const statuses = new Map<number, number>()
  const findings: CostlyFinding[] = []
  let next = 0
  const sendSome = async (): Promise<void> => {
    for (
      let index = from + next++;
      index < from + queries && !server.hasEnded;
      index = from + next++
    ) {
      const outcome = await attacker.send(generateCostlyQuery(seed, index))
      const status = outcome.kind === 'answered' ? outcome.status : undefined
      if (status !== undefined) statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (status === undefined || !ALLOWED.has(status)) {
        findings.push({ index, what: JSON.stringify(outcome) })
      }
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, sendSome))
  const { readsMs, wrong } = await bystander.stop()
  const { longestStretchMs } = server.hasEnded
    ? { longestStretchMs: 0 }
    : await server.usage(HANG_MS)
  const verdicts = [
    ...wrong.map((outcome) => `a read of another client is answered with ${outcome}`),
    ...judge(readsMs, longestStretchMs, p99LimitMs),
    ...(await lastWords(server, attacker)),
  ]
  return {
    statuses,
    findings: [...findings, ...verdicts.map((what) => ({ index: undefined, what }))],
    readsMs,
    longestStretchMs,
  }
}

function judge(readsMs: readonly number[], longestStretchMs: number, p99LimitMs: number): string[] {
  const p99 = percentile(readsMs, 0.99)
  return [
    ...(readsMs.length > 0 && p99 <= p99LimitMs
      ? []
      : [`p99 of ${readsMs.length} reads of another client is ${p99} ms, above ${p99LimitMs}`]),
    ...(longestStretchMs <= STRETCH_LIMIT_MS
      ? []
      : [`the server computed for ${longestStretchMs} ms in one piece, above ${STRETCH_LIMIT_MS}`]),
  ]
}

/** SIGTERM in the midst of queries that would take for ever: the server ends in order all the same. */
async function lastWords(server: ServingProcess, attacker: CostlyClient): Promise<string[]> {
  const running = Array.from({ length: CONCURRENT }, () => attacker.send(ENDLESS))
  // The server has begun with them when it has answered something that came later.
  if (!server.hasEnded) await server.usage(HANG_MS)
  const code = await server.terminate()
  await Promise.all(running)
  if (code === 0 && server.errors === '') return []
  return [`asked to stop it ended with ${server.ending}`]
}

async function fill(server: ServingProcess): Promise<void> {
  await expectOk(server, 'POST', '/dbs', { id: 'costly' })
  const paths = { partitionKey: { paths: ['/pk'] } }
  await expectOk(server, 'POST', '/dbs/costly/colls', { id: 'items', ...paths })
  for (let n = 0; n < DOCUMENTS; n++) {
    const large = n % 2 === 0 ? { big: BIG_TEXT } : { list: LONG_LIST }
    await expectOk(server, 'POST', DOCS, { id: `d${n}`, pk: 'x', n, ...large })
  }
}

async function expectOk(
  server: ServingProcess,
  method: string,
  path: string,
  body: object,
): Promise<void> {
  const answer = await fetch(new URL(path, server.endpoint), {
    method,
    headers: { ...signedHeaders({ method, path }), 'x-ms-documentdb-partitionkey': '["x"]' },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`a good ${method} ${path} is answered ${answer.status}: ${text}`)
}

/** Sends queries with the key that may only read. */
class CostlyClient {
  readonly #server: ServingProcess
  readonly #agent = new Agent({ keepAlive: true })

  constructor(server: ServingProcess) {
    this.#server = server
  }

  send({ text, parameters, headers, over }: CostlyQuery): Promise<FuzzOutcome> {
    const path = over === 'documents' ? DOCS : '/dbs'
    const request = {
      kind: 'signed',
      method: 'POST',
      path,
      headers: {
        ...signedHeaders({ method: 'POST', path, key: READ_ONLY_KEY }),
        'content-type': 'application/query+json',
        'x-ms-documentdb-isquery': 'true',
        ...headers,
      },
      body: JSON.stringify({ query: text, parameters }),
    } as const
    return sendSigned(request, { agent: this.#agent, port: this.#server.port, timeoutMs: HANG_MS })
  }
}

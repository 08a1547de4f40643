import type { ServerUsage, ServingOptions, ServingProcess } from '../gateway/serving-process.ts'
import type { FuzzOutcome } from './fuzz-outcome.ts'
import { FuzzTarget } from './fuzz-target.ts'
import { generateRequest } from './generate/generate-request.ts'
import { judgeLeak, type LeakSample } from './judge-leak.ts'

/** A server under fuzz. */
export interface FuzzedServer extends AsyncDisposable {
  readonly server: ServingProcess
  send(seed: number, index: number): Promise<FuzzOutcome<FuzzStatus>>
  /** Makes what requests go to again, so that what they leave behind does not add up. */
  renew(): Promise<void>
  /** Rejects when the server does not do right what good clients ask for. */
  check(): Promise<void>
  /** What it holds once all clients have left. */
  usage(): Promise<ServerUsage>
  /** Good clients leave. */
  leave(): Promise<void>
}

export interface FuzzRun {
  readonly seed: number
  readonly from: number
  readonly requests: number
  /** It ends after this time, too. */
  readonly seconds?: number | undefined
  readonly place: ServingOptions
  /** @default a gateway, which gets requests */
  readonly start?: ((place: ServingOptions) => Promise<FuzzedServer>) | undefined
  readonly report: (line: string) => void
}

export interface FuzzFinding {
  readonly kind: 'crash' | 'hang'
  /** The requests that it takes; one where one is enough. */
  readonly indexes: readonly number[]
  readonly what: string
}

export interface FuzzResult {
  readonly requests: number
  readonly findings: readonly FuzzFinding[]
  readonly leaks: readonly string[]
  /** How many answers had which status; 0 = none. */
  readonly statuses: ReadonlyMap<FuzzStatus, number>
}

export type FuzzStatus = number | string

/** Between looks at the server's health. */
const BATCH = 2000
const CONCURRENT = 64
/** Batches after which the containers are created again. */
const RENEW_EVERY = 2
const MOST_FINDINGS = 20

/** Sends requests to a server of its own and looks after every batch whether it is well. */
export async function runFuzz(run: FuzzRun): Promise<FuzzResult> {
  const findings: FuzzFinding[] = []
  const statuses = new Map<FuzzStatus, number>()
  const samples: LeakSample[] = []
  const end = performance.now() + (run.seconds ?? Infinity) * 1000
  const { start = startGateway } = run
  let target = await start(run.place)
  let done = 0
  try {
    for (let batch = 0; done < run.requests && performance.now() < end; batch++) {
      const indexes = Array.from(
        { length: Math.min(BATCH, run.requests - done) },
        (_, n) => run.from + done + n,
      )
      const outcomes = await sendAll(target, run.seed, indexes)
      done += indexes.length
      for (const [index, outcome] of outcomes) {
        const key =
          outcome.kind === 'left' ? 'left' : outcome.kind === 'answered' ? outcome.status : 500
        statuses.set(key, (statuses.get(key) ?? 0) + 1)
        if (outcome.kind === 'fault' || outcome.kind === 'hang') {
          const kind = outcome.kind === 'hang' ? 'hang' : 'crash'
          const said = target.server.errors.trim().replace(/^/, '; it said: ')
          findings.push({ kind, indexes: [index], what: `${outcome.what}${said}` })
          // What the server says of it is no second finding.
          target.server.forgetErrors()
        }
      }
      const harm = await harmTo(target)
      if (harm !== undefined) {
        await target[Symbol.asyncDispose]()
        findings.push(await findCulprit(run, indexes, harm))
        target = await start(run.place)
        samples.length = 0
      } else if ((batch + 1) % RENEW_EVERY === 0) {
        await target.renew()
        samples.push({ requests: done, ...(await target.usage()) })
      }
      if (findings.length >= MOST_FINDINGS) break
    }
    const last = findings.length === 0 ? await lastWords(target) : []
    return { requests: done, findings: [...findings, ...last], leaks: judgeLeak(samples), statuses }
  } finally {
    await target[Symbol.asyncDispose]()
  }
}

async function startGateway(place: ServingOptions): Promise<FuzzedServer> {
  const target = await FuzzTarget.start(place)
  return {
    server: target.server,
    send: (seed, index) => target.send(generateRequest(seed, index)),
    renew: () => target.renew(),
    check: () => target.check(),
    usage: () => target.usage(),
    leave: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => target[Symbol.asyncDispose](),
  }
}

async function sendAll(
  target: FuzzedServer,
  seed: number,
  indexes: readonly number[],
): Promise<ReadonlyMap<number, FuzzOutcome<FuzzStatus>>> {
  const outcomes = new Map<number, FuzzOutcome<FuzzStatus>>()
  let next = 0
  const loop = async (): Promise<void> => {
    for (let index = indexes[next++]; index !== undefined; index = indexes[next++]) {
      outcomes.set(index, await target.send(seed, index))
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, loop))
  return outcomes
}

/** What is wrong with a server; undefined when it is well. */
async function harmTo(target: FuzzedServer): Promise<Omit<FuzzFinding, 'indexes'> | undefined> {
  try {
    await target.check()
  } catch (error) {
    if (target.server.hasEnded) return { kind: 'crash', what: `it ended: ${target.server.ending}` }
    return { kind: 'hang', what: error instanceof Error ? error.message : String(error) }
  }
  // It says something there only when it failed by no fault of a client.
  const { errors } = target.server
  return errors === '' ? undefined : { kind: 'crash', what: `it said: ${errors}` }
}

/** Which request of a batch does it: each is sent alone to a server of its own. If none does, all of them are named. */
async function findCulprit(
  { seed, place, report, start = startGateway }: FuzzRun,
  indexes: readonly number[],
  harm: Omit<FuzzFinding, 'indexes'>,
): Promise<FuzzFinding> {
  report(
    `${harm.kind} in requests ${indexes[0]} to ${indexes.at(-1)}; looking for the one\n  ${harm.what}`,
  )
  let suspects = indexes
  while (suspects.length > 1) {
    const half = Math.ceil(suspects.length / 2)
    const halves = [suspects.slice(0, half), suspects.slice(half)]
    let guilty: readonly number[] | undefined
    for (const some of halves) {
      await using target = await start(place)
      await sendAll(target, seed, some)
      if (guilty === undefined && (await harmTo(target)) !== undefined) guilty = some
    }
    if (guilty === undefined) break
    suspects = guilty
  }
  return { ...harm, indexes: suspects }
}

/** SIGTERM: a server that is well ends in order. */
async function lastWords(target: FuzzedServer): Promise<readonly FuzzFinding[]> {
  await target.leave()
  const { server } = target
  const code = await server.terminate()
  if (code === 0 && server.errors === '') return []
  return [{ kind: 'crash', indexes: [], what: `asked to stop it ended with ${server.ending}` }]
}

import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signedHeaders } from '../../gateway/signed-request.ts'
import { ServingProcess } from '../../gateway/serving-process.ts'
import { Bystander, percentile } from '../bystander.ts'
import { CONTAINER, DATABASE, ENTRIES, QUEUE, SUBSCRIPTION, TOPIC, type Entry } from './entries.ts'
import { LOCAL_ENTRIES } from './local-entries.ts'
import { growthFault, type GrowthSample } from './judge-growth.ts'
import { textOf, UNITS } from './patterns.ts'

export interface GrowthRun {
  /** Of the largest text. @default 256 */
  readonly kilobytes?: number | undefined
  /** Only entries whose name has it. */
  readonly only?: string | undefined
  /** What another client's reads may take, 99 of 100; how busy a machine is decides it, too. @default 100 */
  readonly p99LimitMs?: number | undefined
  readonly report: (line: string) => void
}

export interface GrowthResult {
  readonly entries: number
  readonly texts: number
  readonly findings: readonly string[]
  /** How long the reads of another client took meanwhile, in ms, the shortest first. */
  readonly readsMs: readonly number[]
  readonly longestStretchMs: number
}

/** What took longer than it may is measured again, so that what else a machine does is not taken for it. */
const TRIES = 4
const RULE = {
  Name: 'some',
  Properties: { FilterType: 'Sql', SqlFilter: { SqlExpression: "text LIKE '%a%b%c%'" } },
}
const CONFIG = {
  UserConfig: {
    Namespaces: [
      {
        Name: 'bus',
        Queues: [{ Name: QUEUE }],
        Topics: [{ Name: TOPIC, Subscriptions: [{ Name: SUBSCRIPTION, Rules: [RULE] }] }],
      },
    ],
  },
}

/** Texts of 1, 2, 4, … KB of repeated units through every entry, each alone, then the largest beside another client. */
export async function runGrowth(run: GrowthRun): Promise<GrowthResult> {
  const { kilobytes = 256, only = '', p99LimitMs = 100, report } = run
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tidemark-growth-'))
  const config = join(folder.path, 'Config.json')
  await writeFile(config, JSON.stringify(CONFIG))
  const args = ['--amqp-port', '0', '--admin-port', '0', '--ui', '--queues', config]
  await using server = await ServingProcess.start({ args })
  await fill(server)
  const growth = new Growth(kilobytes * 1024)
  const entries = ENTRIES.filter(({ name }) => name.includes(only))
  for (const entry of entries) {
    await growth.measure(entry.name, {}, (text) => measured(server, entry, text))
    report(`${entry.name}: ${growth.findings.length} findings so far`)
  }
  const local = LOCAL_ENTRIES.filter(({ name }) => name.includes(only))
  for (const { name, spend } of local) {
    // Each text of a command is a process.
    const isCommand = name.startsWith('command')
    await growth.measure(name, isCommand ? FEW : {}, async (text) => ({
      chars: text.length - 1,
      processorMs: await spend(text),
      stretchMs: 0,
    }))
    report(`${name}: ${growth.findings.length} findings so far`)
  }
  const { readsMs, wrong } = await besideAnother(server, entries, kilobytes * 1024)
  const { findings, texts, longestStretchMs } = growth
  const p99 = percentile(readsMs, 0.99)
  const isSlow = readsMs.length > 0 && p99 > p99LimitMs
  return {
    entries: entries.length + local.length,
    texts,
    longestStretchMs,
    readsMs,
    findings: [
      ...findings,
      ...wrong,
      ...(server.errors === '' ? [] : [`the server said: ${server.errors.slice(0, 400)}`]),
      ...(isSlow ? [`p99 of another client's reads: ${p99.toFixed(0)} ms`] : []),
    ],
  }
}

const FEW = { from: 65_536, units: UNITS.filter((_, index) => index % 8 === 1) }

/** What texts of each size cost, as long as they cost no more than they may. */
class Growth {
  readonly findings: string[] = []
  texts = 0
  longestStretchMs = 0
  readonly #mostChars: number

  constructor(mostChars: number) {
    this.#mostChars = mostChars
  }

  async measure(
    name: string,
    { from = 1024, units = UNITS }: { readonly from?: number; readonly units?: readonly string[] },
    sampleOf: (text: string) => Promise<GrowthSample>,
  ): Promise<void> {
    for (const unit of units) {
      const samples: GrowthSample[] = []
      let fault: string | undefined
      for (let chars = from; chars <= this.#mostChars && fault === undefined; chars *= 2) {
        for (let attempt = 1; attempt <= TRIES; attempt++) {
          const sample = await sampleOf(textOf(unit, chars, '!'))
          this.texts++
          fault = growthFault([...samples, sample])
          if (fault !== undefined && attempt < TRIES) continue
          samples.push(sample)
          break
        }
      }
      const stretchesMs = samples.map(({ stretchMs }) => stretchMs)
      this.longestStretchMs = Math.max(this.longestStretchMs, ...stretchesMs)
      if (fault !== undefined) this.findings.push(`${name}, ${JSON.stringify(unit)}: ${fault}`)
    }
  }
}

async function measured(server: ServingProcess, entry: Entry, text: string): Promise<GrowthSample> {
  server.watch()
  const before = await server.spent()
  server.watch()
  await entry.send(server, text)
  if (server.hasEnded) throw new Error(`the server ended: ${server.ending}`)
  const { processorMs, longestStretchMs } = await server.spent()
  return {
    chars: text.length - 1,
    processorMs: processorMs - before.processorMs,
    stretchMs: longestStretchMs,
  }
}

async function besideAnother(
  server: ServingProcess,
  entries: readonly Entry[],
  chars: number,
): Promise<{ readonly readsMs: readonly number[]; readonly wrong: readonly string[] }> {
  const bystander = new Bystander(server, {
    path: `/dbs/${DATABASE}/colls/${CONTAINER}/docs/d`,
    headers: { 'x-ms-documentdb-partitionkey': '["p"]' },
  })
  for (const entry of entries) {
    for (const unit of UNITS) await entry.send(server, textOf(unit, chars))
  }
  return bystander.stop()
}

async function fill(server: ServingProcess): Promise<void> {
  const made = async (path: string, body: object): Promise<void> => {
    const headers = {
      ...signedHeaders({ method: 'POST', path }),
      'x-ms-documentdb-partitionkey': '["p"]',
    }
    const answer = await fetch(new URL(path, server.endpoint), {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    if (!answer.ok)
      throw new Error(`POST ${path} is answered ${answer.status}: ${await answer.text()}`)
  }
  await made('/dbs', { id: DATABASE })
  await made(`/dbs/${DATABASE}/colls`, { id: CONTAINER, partitionKey: { paths: ['/pk'] } })
  const text = 'a1b2'.repeat(2048)
  await made(`/dbs/${DATABASE}/colls/${CONTAINER}/docs`, { id: 'd', pk: 'p', text, n: 0 })
}

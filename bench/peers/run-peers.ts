import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PeersOptions } from '../measuring/peers-module.ts'
import { ScenarioSkipped } from '../measuring/scenario.ts'
import { PEERS } from './all-peers.ts'
import type { PeerEntry, RunningPeer } from './contract/peer.ts'
import { peerTable, resultsOf, type MeasuredPeer } from './peer-table.ts'
import { SessionWriter } from './session-writer.ts'
import { peerDrain } from './scenarios/drain.ts'
import { peerLatency } from './scenarios/latency.ts'
import {
  TAKEOVER_MS,
  type OpenedPeerScenario,
  type PeerScenario,
  type PeerSession,
} from './scenarios/peer-scenario.ts'
import { peerSlowDisk } from './scenarios/slow-disk.ts'
import { peerTakeover } from './scenarios/takeover.ts'

/** Drains come first: later ones write more. */
const SCENARIOS: readonly PeerScenario[] = [peerDrain, peerSlowDisk, peerLatency, peerTakeover]
/** Figures of shorter runs only show that everything works. */
const MEASURING_SECONDS = 1

interface Started {
  readonly session: PeerSession
  readonly entry: PeerEntry
  readonly peer: RunningPeer
}

/** Figures as `--list` prints them. */
export function listPeers(options: Pick<PeersOptions, 'only' | 'without'>): readonly string[] {
  return SCENARIOS.flatMap((scenario) =>
    chosenFor(scenario, options).map(
      ({ name }) =>
        `${scenario.name}.${name}: ${scenario.columns.map((column) => column.name).join(', ')}`,
    ),
  )
}

/** Measures each scenario with all peers in turns, prints a table for each, and writes the figures. */
export async function runPeers(options: PeersOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-'))
  await using started = new AsyncDisposableStack()
  started.defer(() => rm(folder, { recursive: true, force: true }))
  const peers = await startAll(folder, options, started)
  const results: unknown[] = []
  for (const scenario of SCENARIOS) {
    const chosen = peers.filter(({ entry }) => chosenFor(scenario, options).includes(entry))
    if (chosen.length === 0) continue
    try {
      const measured = await measure(scenario, chosen, options)
      console.log(peerTable(scenario, measured))
      results.push(...resultsOf(scenario, measured))
    } catch (error) {
      if (!(error instanceof ScenarioSkipped)) throw error
      console.log(`skipped ${scenario.name}: ${error.message}`)
    }
  }
  if (options.json !== undefined) {
    await writeFile(options.json, `${JSON.stringify(results, null, 2)}\n`)
  }
}

function chosenFor(
  { name, includes = () => true }: PeerScenario,
  { only, without }: Pick<PeersOptions, 'only' | 'without'>,
): readonly PeerEntry[] {
  return PEERS.filter(
    (entry) =>
      includes(entry) && `${name}.${entry.name}`.includes(only) && !without.includes(entry.name),
  )
}

/** A peer that cannot be had is named. */
async function startAll(
  folder: string,
  options: PeersOptions,
  stack: AsyncDisposableStack,
): Promise<readonly Started[]> {
  const wanted = new Set(SCENARIOS.flatMap((scenario) => chosenFor(scenario, options)))
  const takeoverMs = Math.min(TAKEOVER_MS, Math.max(1_000, options.seconds * 3_000))
  const started: Started[] = []
  for (const entry of PEERS) {
    if (options.without.includes(entry.name)) console.log(`${entry.name}: left out`)
    if (!wanted.has(entry)) continue
    process.stderr.write(`${entry.name} …\n`)
    const own = join(folder, entry.name)
    await mkdir(own)
    let peer: RunningPeer
    try {
      peer = stack.use(await entry.start({ folder: own, takeoverMs }))
    } catch (error) {
      if (entry.isOurs) throw error
      console.log(
        `${entry.name}: cannot be had: ${error instanceof Error ? error.message : String(error)}`,
      )
      continue
    }
    await peer.load(options.documents)
    console.log(`${entry.name}: ${peer.version}`)
    started.push({
      entry,
      peer,
      session: sessionOf(entry, peer, { folder: own, ...options, takeoverMs }),
    })
  }
  return started
}

function sessionOf(
  entry: PeerEntry,
  peer: RunningPeer,
  {
    folder,
    documents,
    ...options
  }: { folder: string; documents: number; seconds: number; takeoverMs: number },
): PeerSession {
  let folders = 0
  return {
    entry,
    peer,
    options,
    documents,
    writer: new SessionWriter(peer),
    async newFolder() {
      const path = join(folder, `run-${++folders}`)
      await mkdir(path)
      return path
    },
  }
}

async function measure(
  scenario: PeerScenario,
  peers: readonly Started[],
  { runs, seconds }: PeersOptions,
): Promise<readonly MeasuredPeer[]> {
  await using stack = new AsyncDisposableStack()
  const opened: { readonly peer: Started; readonly scenario: OpenedPeerScenario }[] = []
  for (const peer of peers) {
    const one = stack.use(await scenario.open(peer.session))
    process.stderr.write(`${scenario.name}.${peer.entry.name} ready\n`)
    if (seconds >= MEASURING_SECONDS) await one.warmUp?.()
    opened.push({ peer, scenario: one })
  }
  const measured = peers.map(({ entry }): MeasuredPeer => ({ entry, runs: [] }))
  for (let run = 1; run <= runs; run++) {
    for (const [at, one] of opened.entries()) {
      process.stderr.write(`${scenario.name}.${one.peer.entry.name} ${run}/${runs}\n`)
      measured[at]!.runs.push(await one.scenario.run())
    }
  }
  return measured
}

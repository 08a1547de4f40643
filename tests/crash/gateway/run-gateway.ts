import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServingProcess } from '../../gateway/serving-process.ts'
import { openCrashStore } from '../crash-store.ts'
import { generator, type LaneState } from '../lane.ts'
import { LANES } from '../run-round.ts'
import { verifyRound, type RoundVerdict } from '../verify-round.ts'
import { LaneClient } from './lane-client.ts'

export interface GatewayRunResult {
  readonly lost: number
  readonly indexFaults: number
  /** What happened, as one line. */
  readonly summary: string
}

interface Round {
  readonly folder: string
  readonly seed: number
  readonly round: number
}

const MIN_WRITING_MS = 50
const MAX_WRITING_MS = 300
const PATIENCE_MS = 20_000

/**
 * Kills `tidemark serve` with SIGKILL while clients write over HTTP, over and over on one folder, and looks in the
 * folder for what they were answered. Rejects when it shows nothing.
 */
export async function runGateway({
  folder,
  seed,
  rounds,
  report,
}: {
  readonly folder: string
  readonly seed: number
  readonly rounds: number
  readonly report: (line: string) => void
}): Promise<GatewayRunResult> {
  let [acknowledged, lost, indexFaults, undone, readyMs] = [0, 0, 0, 0, 0]
  let states: readonly LaneState[] = Array.from({ length: LANES }, () => new Map<string, string>())
  report(`${LANES} concurrent writers over HTTP`)
  const store = join(folder, 'store')
  for (let round = 0; round < rounds; round++) {
    const result = await killOnce({ folder: store, seed, round }, states)
    states = result.states
    acknowledged += result.acknowledged
    lost += result.lost.length
    indexFaults += result.indexFaults.length
    undone += result.inDoubt.notApplied
    readyMs = Math.max(readyMs, result.readyMs)
    report(
      `round ${round + 1}: ${result.acknowledged} acknowledged, ${result.inDoubt.applied} done but not acknowledged`,
    )
    for (const fault of [...result.lost, ...result.indexFaults]) report(`  ${fault}`)
  }
  // Every lane has a write on its way at any time, so a kill that hit the writing leaves some undone.
  if (undone === 0) throw new Error('no kill hit a write on its way')
  report(
    `answered at most ${Math.round(readyMs)} ms after the start, on a folder that a killed server left`,
  )
  const summary = `${rounds} rounds, ${acknowledged} acknowledged writes, ${lost} lost, ${indexFaults} index faults`
  return { lost, indexFaults, summary }
}

interface RoundResult extends RoundVerdict {
  readonly acknowledged: number
  readonly readyMs: number
}

async function killOnce(
  { folder, seed, round }: Round,
  before: readonly LaneState[],
): Promise<RoundResult> {
  const place = { kind: 'folder', folder, durability: 'sync' } as const
  // Makes the collection; the server finds it.
  await (await openCrashStore(place))[Symbol.asyncDispose]()
  const startedMs = performance.now()
  const server = await ServingProcess.start({ folder })
  const readyMs = performance.now() - startedMs
  let acknowledged: LaneClient['acknowledged']
  try {
    using client = new LaneClient(server.endpoint)
    const lanes = before.map((state, lane) => client.write({ seed, round, lane, before: state }))
    // A refusal of what is right ends the round at once.
    const refused = Promise.all(lanes)
    await Promise.race([refused, firstAcknowledgements(client)])
    const chance = generator(seed * 7_919 + round)
    const writingMs = MIN_WRITING_MS + chance() * (MAX_WRITING_MS - MIN_WRITING_MS)
    await Promise.race([refused, sleep(writingMs)])
    if (server.hasEnded)
      throw new Error(`round ${round}: the server ended by itself: ${server.ending}`)
    client.expectDeath()
    await server.kill()
    acknowledged = client.acknowledged
    client[Symbol.dispose]()
    await refused
  } finally {
    await server.kill()
  }
  await using reopened = await openCrashStore(place)
  const verdict = await verifyRound(reopened, {
    seed,
    round,
    before,
    acknowledged,
    followed: undefined,
  })
  return { ...verdict, acknowledged: acknowledged.length, readyMs }
}

/** On a busy machine the first write may take longer than the whole time until the kill. */
async function firstAcknowledgements({ acknowledged }: LaneClient): Promise<void> {
  for (let waitedMs = 0; acknowledged.length < LANES; waitedMs += 2) {
    if (waitedMs > PATIENCE_MS) throw new Error('hardly a write was acknowledged')
    await sleep(2)
  }
}

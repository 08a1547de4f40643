import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { logSize, readAcknowledgements, type Acknowledgement } from './acknowledgements.ts'
import { CampaignProcess } from '../campaign/campaign-process.ts'
import type { CrashScene, Writing } from './crash-scene.ts'
import { openCrashStore } from './crash-store.ts'
import { generator, type LaneState } from './lane.ts'
import type { FollowerMessage, FollowerTask, WriterMessage, WriterTask } from './messages.ts'
import { safely } from './store-place.ts'
import { verifyRound, type RoundVerdict } from './verify-round.ts'

export const LANES = 64
const MIN_WRITING_MS = 20
const MAX_WRITING_MS = 200
/** How long the writer that is left goes on after the first was killed. */
const SURVIVOR_MS = 40
const GO_ON_LIMIT_MS = 25_000

export interface RoundResult extends RoundVerdict {
  readonly acknowledged: number
  readonly description: string
}

/** Writes, disturbs, kills, reopens, compares. In some rounds a reader in another process follows. */
export async function runRound(
  {
    folder,
    seed,
    round,
    scene,
  }: {
    /** For logs. */
    readonly folder: string
    readonly seed: number
    readonly round: number
    readonly scene: CrashScene
  },
  before: readonly LaneState[],
): Promise<RoundResult> {
  const chance = generator(seed * 7_919 + round)
  const { place, shares, followed, description: how } = scene.plan(round)
  const log = (share: number): string => join(folder, `acknowledged-${round}-${share}.log`)
  const writers = Array.from({ length: shares }, (_, share) => {
    const lanes = Array.from({ length: LANES }, (_lane, lane) => lane).filter(
      (lane) => lane % shares === share,
    )
    return startWriter({ place, seed, round, lanes, log: log(share) })
  })
  const follower = followed ? startFollower({ place: safely(place) }) : undefined
  const writing: Writing = {
    chance,
    progress: () => writers.map((_, share) => logSize(log(share))),
    assertAlive: () => {
      for (const child of [...writers, follower]) child?.assertAlive()
    },
  }
  try {
    await Promise.all([
      ...writers.map((writer) => writer.receive('writing')),
      follower?.receive('following'),
    ])
    await Promise.all(writers.map((_, share) => untilMoreThan(0, log(share))))
    await sleep(MIN_WRITING_MS + chance() * (MAX_WRITING_MS - MIN_WRITING_MS))
    await scene.disturb(round, writing)
    const [first, survivor] = writers
    await first?.kill()
    if (survivor !== undefined) {
      const soFar = readAcknowledgements(log(1)).length
      await untilMoreThan(soFar, log(1))
      await sleep(SURVIVOR_MS + chance() * SURVIVOR_MS)
      await survivor.kill()
      if (readAcknowledgements(log(1)).length === soFar) {
        throw new Error(`round ${round}: the death of one writer stopped the other`)
      }
    }
    const acknowledged: Acknowledgement[] = []
    for (let share = 0; share < shares; share++)
      acknowledged.push(...readAcknowledgements(log(share)))
    follower?.tell('stop')
    const report = await follower?.receive('followed')
    await follower?.finished()
    assertRoundIsOne(round, acknowledged.length, report)
    await scene.settle()
    await using reopened = await openCrashStore(safely(place))
    const facts = { seed, round, before, acknowledged, followed: report }
    const verdict = await verifyRound(reopened, facts)
    const description =
      `${how}, ${shares === 1 ? 'one writer' : 'two writers'}` +
      (report === undefined ? '' : `, followed (${report.changes} changes)`)
    return { ...verdict, acknowledged: acknowledged.length, description }
  } finally {
    for (const child of [...writers, follower]) await child?.end()
  }
}

function startWriter(task: WriterTask): CampaignProcess<WriterMessage> {
  return new CampaignProcess(new URL('writer.child.ts', import.meta.url), task)
}

function startFollower(task: FollowerTask): CampaignProcess<FollowerMessage> {
  return new CampaignProcess(new URL('follower.child.ts', import.meta.url), task)
}

/** On a busy machine one more write may take longer than the whole time until the kill. */
async function untilMoreThan(count: number, log: string): Promise<void> {
  const endMs = performance.now() + GO_ON_LIMIT_MS
  while (readAcknowledgements(log).length <= count && performance.now() < endMs) await sleep(2)
}

/** A round in which nothing was under way proves nothing. */
function assertRoundIsOne(
  round: number,
  acknowledged: number,
  report: { readonly changes: number } | undefined,
): void {
  if (acknowledged === 0) throw new Error(`round ${round}: killed before it wrote anything`)
  if (report?.changes === 0) throw new Error(`round ${round}: the follower saw nothing`)
}

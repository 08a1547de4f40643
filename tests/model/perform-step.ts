import { expectSame } from './difference.ts'
import { GROUPS, type Step } from './program.ts'
import { performMerge, performSplit, rangeAt } from './perform-ranges.ts'
import { performMaintenance, performPiece, type Upkeep } from './perform-upkeep.ts'
import { performAtomic, performBatch, performSingle } from './perform-write.ts'
import { switchVersions } from './switch-versions.ts'
import type { Session } from './session.ts'

export type ChangingStep = Exclude<Step, { do: 'begin' | 'follow' | 'fork' | 'readFromTime' }>

/** Does one step in the store and in the model. Says what was done in the background, if anything. */
export async function performStep(
  session: Session,
  step: ChangingStep,
): Promise<Upkeep | undefined> {
  const { collection } = session
  switch (step.do) {
    case 'create':
    case 'upsert':
    case 'replace':
    case 'patch':
    case 'delete':
      await performSingle(session, step)
      return undefined
    case 'batch':
      await performBatch(session, step)
      return undefined
    case 'atomic':
      await performAtomic(session, step)
      return undefined
    case 'clock':
    case 'clockToExpiry':
      await stepClock(session, step)
      return undefined
    case 'allVersions':
      await switchVersions(session, step.value)
      return undefined
    case 'defaultTtl':
    case 'retention':
    case 'waitFor':
    case 'stopWaitingFor':
      await changeSettings(session, step)
      return undefined
    case 'report':
      await reportPosition(session, step)
      return undefined
    case 'split':
      await performSplit(session, step)
      return undefined
    case 'merge':
      await performMerge(session, step)
      return undefined
    case 'upkeep':
      return performPiece(session, step)
    case 'runMaintenance':
      return performMaintenance(session)
    case 'reopen':
      await collection.count()
      // A handle that is opened knows the time of the last commit.
      if (session.model.nowMs > session.model.wallMs) await session.stage.keepTime()
      await session.stage.reopen(session.via)
      return undefined
  }
}

async function stepClock(
  { model, stage }: Session,
  step: Extract<Step, { do: 'clock' | 'clockToExpiry' }>,
): Promise<void> {
  const next = model.nextExpiryMs()
  // Nobody waits for centuries: what never expires in practice is left alone.
  const isNear = next !== undefined && next < model.nowMs + 1_000_000
  if (step.do === 'clockToExpiry' && !isNear) return
  const byMs = step.do === 'clock' ? step.byMs : (next ?? 0) + step.offsetMs - model.nowMs
  const wallMs = model.wallMs + byMs
  if (wallMs < model.wallMs) await stage.keepTime()
  stage.environment.stepTo(wallMs)
  model.stepTo(wallMs)
  if (byMs > 0) return
  // Each handle sees that the clock was set back, as processes in use do.
  for (let via = 0; via < stage.environment.handles; via += 1) await stage.collection(via).count()
}

async function changeSettings(
  { model, collection }: Session,
  step: Extract<Step, { do: 'defaultTtl' | 'retention' | 'waitFor' | 'stopWaitingFor' }>,
): Promise<void> {
  switch (step.do) {
    case 'defaultTtl': {
      const record = await collection.updateSettings({ defaultTtl: step.value })
      expectSame('defaultTtl', record.definition.defaultTtl, step.value)
      return model.setDefaultTtl(step.value)
    }
    case 'retention':
      await collection.updateSettings({ pendingDeletes: { retentionSeconds: step.seconds } })
      model.retentionSeconds = step.seconds
      return
    case 'waitFor':
      await collection.addWaitingGroup(step.group)
      return void model.waitFor.add(step.group)
    case 'stopWaitingFor':
      await collection.removeWaitingGroup(step.group)
      return void model.waitFor.delete(step.group)
  }
}

/** A group says how far it has come in one range: at a share of its newest LSN. */
async function reportPosition(
  { model, collection }: Session,
  { group, range: wanted, share }: Extract<Step, { do: 'report' }>,
): Promise<void> {
  const { minInclusive, maxExclusive } = rangeAt(model.ranges, wanted)
  const range = { minInclusive, maxExclusive }
  const start = { range, start: 'now' } as const
  const newest = await collection.resolveStart(start)
  const lsn = Math.floor(newest.lsn * share)
  // A number below one that the store gave.
  const reached = lsn as typeof newest.lsn
  await collection.positions.report([{ group, range, lsn: reached }])
  model.reports.push({ group, range, lsn })
  for (const each of GROUPS) {
    for (const position of await collection.positions.read(each)) {
      const wantedLsn = model.positionAt(each, position.range.minInclusive)
      expectSame(`position of ${each}`, position.lsn, wantedLsn)
    }
  }
}

import { expectSame, expectThat } from './difference.ts'
import type { Model } from './model.ts'
import type { StoredDocument } from './model-records.ts'
import type { Step, UpkeepKind } from './program.ts'
import { rangeAt } from './perform-ranges.ts'
import type { Session } from './session.ts'

/** What a step may have done in the background; what it did is seen in the feeds. */
export interface Upkeep {
  readonly kinds: ReadonlySet<UpkeepKind>
  /** Documents or rows that the engine says it dealt with; undefined = unknown. */
  readonly items: number | undefined
  /** True when everything that was due must have been done. */
  readonly isComplete: boolean
  /** What had expired before it. */
  readonly unswept: readonly StoredDocument[]
}

const HOLDER = 'model'
const ALL_KINDS: readonly UpkeepKind[] = ['expiryIndex', 'sweep', 'purge', 'trimVersions', 'fold']

/** One piece of background work. */
export async function performPiece(
  session: Session,
  { task: kind, maxItems, range: wanted }: Extract<Step, { do: 'upkeep' }>,
): Promise<Upkeep> {
  const { model, collection, via } = session
  const engine = session.stage.engine(via)
  const record = await collection.readRecord()
  const unswept = model.unswept()
  const range = Number(rangeAt(model.ranges, wanted).id)
  const task = kind === 'fold' ? { kind, collection: record, range } : { kind, collection: record }
  const outcome = await engine.maintain({ holder: HOLDER, leaseMs: 1000, maxItems, task })
  await engine.releaseMaintenance(HOLDER)
  expectSame(`outcome of ${kind}`, outcome.kind, 'done')
  const items = outcome.kind === 'done' ? outcome.items : 0
  return { kinds: new Set([kind]), items, isComplete: false, unswept }
}

/** All that is due. */
export async function performMaintenance(session: Session): Promise<Upkeep> {
  const { model, stage, via } = session
  const unswept = model.unswept()
  const report = await stage.environment.store(via).runMaintenance()
  expectSame('who else does maintenance', report.heldElsewhere, [])
  const { tasks } = await stage.engine(via).readMaintenance()
  expectSame(
    'work that is left after maintenance',
    tasks.map(({ kind }) => kind),
    [],
  )
  return { kinds: new Set(ALL_KINDS), items: undefined, isComplete: true, unswept }
}

/** After a piece of background work, once the model has seen what it did. */
export function expectUpkeep(
  { model }: Session,
  { kinds, items, isComplete, unswept: before }: Upkeep,
): void {
  const swept = before.filter((document) => !model.unswept().includes(document))
  if (kinds.has('sweep') && items !== undefined) {
    expectSame('documents that the sweep says it swept', items, swept.length)
    expectLongestFirst(model, swept)
  }
  if (!isComplete) return
  expectSame('expired documents after maintenance', model.unswept().length, 0)
  const due = [...model.pending.values()].filter((pending) => model.mayPurge(pending))
  // In LSN order: one that has to stay may keep those above it.
  const kept = [...model.pending.values()].filter((pending) => !model.mayPurge(pending))
  const lowestKept = Math.min(...kept.map(({ lsn = 0 }) => lsn))
  const left = due.filter(({ lsn = 0 }) => lsn < lowestKept)
  expectThat(left.length === 0, () => `${left.length} pending deletes were due and are still there`)
}

/** The longest expired first; those of one second in any order. */
function expectLongestFirst(model: Model, swept: readonly StoredDocument[]): void {
  const secondOf = (document: StoredDocument): number => model.expiredSecond(document) ?? Infinity
  const latest = Math.max(...swept.map(secondOf))
  const left = model.unswept().filter((document) => secondOf(document) < latest)
  expectThat(
    left.length === 0,
    () => `the sweep left ${left.length} that expired before ${latest}, which it took`,
  )
}

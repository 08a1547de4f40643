import type {
  CommandAnswers,
  CommandOf,
  EntityRecord,
  MessageCommand,
  MessageTime,
} from '@tidemark/store/messages'
import { activateScheduled } from './activation.ts'
import type { FanOutContext } from './fan-out.ts'
import { forwardFrom } from './forwarding.ts'
import { isDue, lookAt, type LookContext } from './look-at.ts'
import type { SharedRuns } from './shared-runs.ts'

/** What bringing messages needs of the broker. */
export interface BringContext extends LookContext, FanOutContext {
  /** Of forwardings by their sources, and of activations by their topics. */
  readonly runs: SharedRuns
  perform<Kind extends MessageCommand['kind']>(
    command: CommandOf<Kind>,
  ): Promise<{ readonly answer: CommandAnswers[Kind]; readonly time: MessageTime }>
  /** Something was put into this entity, and forwards from there. Nobody waits for it. */
  forwardOnward(record: EntityRecord): void
  /** Something was put into the dead-letter queue of this entity, and forwards from there. */
  forwardDeadLettersOf(record: EntityRecord): void
}

/**
 * Makes everything arrive that comes to an entity by itself: scheduled messages of its topic, messages of entities that
 * forward to it, dead letters of its owner. Asks the store for nothing where nothing can come from.
 */
export async function bringMessages(context: BringContext, record: EntityRecord): Promise<void> {
  await bring(context, record, new Set())
}

/** With what is due in the entity itself, listeners apart. */
export async function bringDue(context: BringContext, record: EntityRecord): Promise<void> {
  await bringMessages(context, record)
  if (record.kind !== 'topic') await applyDue(context, record)
}

async function bring(
  context: BringContext,
  record: EntityRecord,
  seen: Set<number>,
): Promise<void> {
  if (seen.has(record.number)) return
  seen.add(record.number)
  const { directory } = context
  const parent = directory.parentOf(record)
  if (parent !== undefined) await bring(context, parent, seen)
  if (record.kind === 'deadLetter') {
    if (parent !== undefined) await applyDue(context, parent)
    return
  }
  const sources = directory.sourcesForwardingTo(record)
  for (const source of sources) await bring(context, source, seen)
  // Whoever looks at an entity that forwards, or at its dead-letter queue, sees what the forwarding has left.
  const isSource = directory.destinationPathOf(record) !== undefined
  await forwardWaiting(context, isSource ? [...sources, record] : sources)
  if (record.kind === 'topic') await activateScheduled(context, record)
}

/** From those in which something waits, or is about to. */
async function forwardWaiting(
  context: BringContext,
  sources: readonly EntityRecord[],
): Promise<void> {
  if (sources.length === 0) return
  const looks = await lookAt(context, sources)
  for (const source of sources) {
    const look = looks.get(source.number)
    if (look === undefined) continue
    if (look.hasReady || isDue(context, look)) await forwardFrom(context, source)
  }
}

/** What is due in an entity may put something into its dead-letter queue. */
async function applyDue(context: BringContext, record: EntityRecord): Promise<void> {
  const look = (await lookAt(context, [record])).get(record.number)
  if (look === undefined || !isDue(context, look)) return
  let isApplied = false
  while (!isApplied) {
    const { answer } = await context.perform<'applyDue'>({
      kind: 'applyDue',
      entity: record.number,
      touch: false,
      listening: 'nobody',
    })
    isApplied = answer.kind !== 'again'
  }
}

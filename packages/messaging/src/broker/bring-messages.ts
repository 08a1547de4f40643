import type { EntityRecord } from '@tidemark/store/messages'
import { activateScheduled } from './activation.ts'
import type { BringContext } from './bring-context.ts'
import { forwardFrom } from './forwarding.ts'
import { isDue, lookAt } from './look-at.ts'

/**
 * Makes everything arrive that comes to an entity by itself: scheduled messages of its topic, messages of entities that
 * forward to it. Asks the store for nothing where nothing can come from.
 */
export async function bringMessages(context: BringContext, record: EntityRecord): Promise<void> {
  await bring(context, record, new Set())
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
  if (record.kind === 'deadLetter') return
  const sources = directory.sourcesForwardingTo(record)
  for (const source of sources) await bring(context, source, seen)
  // Whoever looks at an entity that forwards, or at its dead-letter queue, sees what the forwarding has left.
  const isSource = directory.destinationPathOf(record) !== undefined
  await forwardWaiting(context, isSource ? [...sources, record] : sources)
  if (record.kind === 'topic') await activateScheduled(context, record)
}

/** From those in which something waits, or is about to. */
export async function forwardWaiting(
  context: BringContext,
  sources: readonly EntityRecord[],
): Promise<void> {
  if (sources.length === 0) return
  const { directory } = context
  const owners = sources.flatMap((one) =>
    one.kind === 'deadLetter' ? (directory.parentOf(one) ?? []) : [],
  )
  const looks = await lookAt(context, [...sources, ...owners])
  for (const source of sources) {
    const look = looks.get(source.number)
    const owner = source.kind === 'deadLetter' ? looks.get(source.parent ?? 0) : undefined
    const waits = look !== undefined && (look.hasReady || isDue(context, look))
    // The end of a lock may put something into the dead-letter queue: nobody needs to listen for it.
    const mayDie = owner !== undefined && isDue(context, { lockEndMs: owner.lockEndMs })
    if (waits || mayDie) await forwardFrom(context, source)
  }
}

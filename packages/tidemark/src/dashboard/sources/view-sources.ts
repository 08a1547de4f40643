import type { Query } from '../requests/query.ts'
import type { ViewSource } from '../streams/shared-view.ts'
import type { GroupRef, ViewName } from '../views.ts'
import { readCollectionView } from './collection-view.ts'
import { collectionOf, groupOf, type DashboardContext } from './dashboard-context.ts'
import { readGroupView } from './group-view.ts'
import { readLettersView } from './letters-view.ts'
import { queueOf } from './messages.ts'
import { lookAtGroups, readOverview, type LookedAtGroups } from './overview.ts'
import { readQueueView } from './queue-view.ts'

/** Begins to look at something. @throws ERR_BAD_REQUEST */
type Begin = (context: DashboardContext, query: Query) => ViewSource

/** Every view, by the name in its path. */
export const VIEW_SOURCES: Readonly<Record<ViewName, Begin>> = {
  overview: (context) =>
    sampled(context, async (hold) => readOverview(context, await heldGroups(context, hold))),
  group: (context, query) => {
    const ref = groupOf(query)
    return sampled(context, async (hold) => {
      // First, so that a missing group is not sampled.
      const view = await readGroupView(context, ref)
      if (!(await hold([ref]))) return view
      return readGroupView(context, ref)
    })
  },
  collection: (context, query) => {
    const place = collectionOf(query)
    return sampled(context, async (hold) =>
      readCollectionView(context, place, await heldGroups(context, hold)),
    )
  },
  letters: (context, query) => {
    collectionOf(query)
    return { read: () => readLettersView(context, query), release: () => {} }
  },
  queue: (context, query) => {
    const place = queueOf(query)
    return { read: () => readQueueView(context, place), release: () => {} }
  },
}

/** Has these groups sampled, and no others. Resolves to true when one of them is new, and measured by now if possible. */
type Hold = (refs: readonly GroupRef[]) => Promise<boolean>

function sampled(
  { sampler }: DashboardContext,
  read: (hold: Hold) => ReturnType<ViewSource['read']>,
): ViewSource {
  const held = new Map<string, () => void>()
  let isReleased = false
  const hold: Hold = async (refs) => {
    const wanted = new Set(refs.map((ref) => JSON.stringify(ref)))
    for (const [key, letGo] of held) {
      if (wanted.has(key)) continue
      held.delete(key)
      letGo()
    }
    if (isReleased) return false
    const fresh = refs.filter((ref) => !held.has(JSON.stringify(ref)))
    for (const ref of fresh) held.set(JSON.stringify(ref), sampler.hold(ref))
    await Promise.all(fresh.map((ref) => sampler.untilMeasured(ref)))
    return fresh.length > 0
  }
  return {
    read: () => read(hold),
    release: () => {
      isReleased = true
      for (const letGo of held.values()) letGo()
      held.clear()
    },
  }
}

async function heldGroups(context: DashboardContext, hold: Hold): Promise<LookedAtGroups> {
  const found = await lookAtGroups(context)
  if (!(await hold(found.groups.map(({ ref }) => ref)))) return found
  return lookAtGroups(context)
}

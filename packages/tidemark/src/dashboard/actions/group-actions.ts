import { FULL_RANGE, parseFeedRangeId, rangesOverlap, type FeedRange } from '@tidemark/contracts'
import { ProcessorGroup, type GroupLease, type MovedLease } from '@tidemark/processor'
import { repeated, skipped } from '../../inspection/moved-lsns.ts'
import { startOf } from '../../platform/start-of.ts'
import type { ActionBody } from '../requests/action-body.ts'
import { shown } from '../requests/query.ts'
import { badRequest, notFound } from '../requests/refusal.ts'
import type { DashboardContext } from '../sources/dashboard-context.ts'
import type { ActionAnswer, GroupRef, MoveRow } from '../views.ts'
import type { Act } from './act.ts'

/** Leases that one request releases. */
const MOST_RELEASED = 1_000

export const pause: Act = (context, body, isDry) =>
  withGroup(context, body, async ({ group, leases, hosts, paused }) => {
    if (paused) return answer(isDry, `Group ${group.group} is paused already.`, { ranges: 0 })
    const owned = leases.filter(({ owner }) => owner !== undefined).length
    if (!isDry) await group.pause()
    const text =
      `${counted(hosts, 'host')} of group ${group.group} finish their batches, store their positions and give up ` +
      `${counted(owned, 'range')}. Nothing is processed until the group is resumed; nothing is lost or repeated.`
    return answer(isDry, text, { ranges: owned, hosts })
  })

export const resume: Act = (context, body, isDry) =>
  withGroup(context, body, async ({ group, leases, hosts, paused }) => {
    if (!paused) return answer(isDry, `Group ${group.group} is not paused.`, { ranges: 0 })
    if (!isDry) await group.resume()
    const text =
      `${counted(hosts, 'host')} of group ${group.group} take ${counted(leases.length, 'range')} and go on ` +
      `exactly where the group stopped.`
    return answer(isDry, text, { ranges: leases.length, hosts })
  })

export const seek: Act = (context, body, isDry) =>
  withGroup(context, body, async ({ group, hasFeed }) => {
    const to = startOf(body.text('to'))
    if (to === undefined) {
      throw badRequest('to must be beginning, now, a time (ISO 8601) or a continuation')
    }
    if (!hasFeed) {
      throw badRequest(`what group ${group.group} follows is not in this store`)
    }
    const request = { to, ranges: rangesOf(body) }
    const moves = isDry ? await group.previewSeek(request) : await group.seek(request)
    const numbers = { ranges: moves.length, repeated: repeated(moves), skipped: skipped(moves) }
    return { ...answer(isDry, seekText(group.group, numbers), numbers), moves: moves.map(moveRow) }
  })

export const release: Act = (context, body, isDry) =>
  withGroup(context, body, async ({ group, leases }) => {
    const ranges = rangesOf(body)
    if (ranges === undefined) throw badRequest('ranges is missing')
    const chosen = leases.filter(({ range }) => ranges.some((one) => rangesOverlap(one, range)))
    if (chosen.length === 0) throw notFound('the group has no lease of these ranges')
    if (chosen.length > MOST_RELEASED) {
      throw badRequest(`one request releases at most ${MOST_RELEASED} ranges`)
    }
    if (!isDry) for (const { leaseId } of chosen) await group.release(leaseId)
    const owners = new Set(chosen.flatMap(({ owner }) => owner ?? []))
    const text =
      `${counted(chosen.length, 'range')} of group ${group.group} taken from ` +
      `${owners.size === 0 ? 'no host' : [...owners].sort().join(', ')}, and assigned again with new observers. Batches that ` +
      `run there come again; positions and tries stay. A halt ends.`
    return answer(isDry, text, { ranges: chosen.length, hosts: owners.size })
  })

export function answer(
  isDry: boolean,
  text: string,
  numbers: ActionAnswer['numbers'],
): ActionAnswer {
  return { done: !isDry, text, numbers, moves: [] }
}

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

interface ActedGroup {
  readonly group: ProcessorGroup
  readonly hasFeed: boolean
  readonly paused: boolean
  readonly hosts: number
  readonly leases: readonly GroupLease[]
}

/** Rejects with ERR_NOT_FOUND when there is no such group. */
async function withGroup(
  { groups, clock }: DashboardContext,
  body: ActionBody,
  act: (found: ActedGroup) => Promise<ActionAnswer>,
): Promise<ActionAnswer> {
  const ref: GroupRef = { leases: body.text('leases'), group: body.text('group') }
  const { leases: store, followed } = await groups.read(ref)
  const options = { leases: store, group: ref.group, feed: followed?.collection, clock }
  await using group = new ProcessorGroup(options)
  const { paused, hosts, leases } = await group.status()
  const hasFeed = followed !== undefined
  return await act({ group, hasFeed, paused, hosts: hosts.length, leases })
}

/** @throws ERR_BAD_REQUEST */
function rangesOf(body: ActionBody): readonly FeedRange[] | undefined {
  return body.texts('ranges')?.map((text) => {
    if (text === 'all') return FULL_RANGE
    const range = parseFeedRangeId(text.toUpperCase())
    if (range !== undefined) return range
    throw badRequest(`ranges must be like min-max, or all, got ${shown(text)}`)
  })
}

function seekText(
  group: string,
  numbers: { readonly ranges: number; readonly repeated: number; readonly skipped: number },
): string {
  const parts = [
    ...(numbers.repeated > 0
      ? [`up to ${counted(numbers.repeated, 'transaction')} are delivered again`]
      : []),
    ...(numbers.skipped > 0
      ? [`up to ${counted(numbers.skipped, 'transaction')} are skipped and never delivered`]
      : []),
  ]
  const effect = parts.length === 0 ? 'it stands there already' : parts.join('; ')
  return `Group ${group} moves in ${counted(numbers.ranges, 'range')}: ${effect}. It is paused meanwhile, so that batches that run end first.`
}

function moveRow({ leaseId, fromLsn, toLsn }: MovedLease): MoveRow {
  const from = fromLsn ?? toLsn
  const effect = toLsn < from ? 'repeats' : toLsn > from ? 'skips' : 'none'
  return { id: leaseId, fromLsn: fromLsn ?? null, toLsn, effect }
}

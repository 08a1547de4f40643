import type { DocumentDeadLetters } from '@tidemark/processor'
import type { ActionBody } from '../requests/action-body.ts'
import { badRequest, notFound } from '../requests/refusal.ts'
import { lettersOf, type DashboardContext } from '../sources/dashboard-context.ts'
import type { Act } from './act.ts'
import { answer, counted } from './group-actions.ts'

const MOST_CHOSEN = 100
/** Letters that a dry run counts. */
const MOST_COUNTED = 10_000

export const redriveLetters: Act = async (context, body, isDry) => {
  const { letters, group, ids } = await chosen(context, body)
  const found = isDry
    ? await present(letters, group, ids)
    : outcome(await letters.redrive({ group, letters: ids ?? 'all' }))
  const text =
    `${counted(found.letters, 'dead letter')} of group ${group} go back to its hosts, which process them again one by one. ` +
    `What fails again is kept again. A newer version of a document may have been processed meanwhile.`
  return answer(isDry, text, found)
}

export const dropLetters: Act = async (context, body, isDry) => {
  const { letters, group, ids } = await chosen(context, body)
  const found = isDry
    ? await present(letters, group, ids)
    : outcome(await letters.drop({ group, letters: ids ?? 'all' }))
  const text =
    `${counted(found.letters, 'dead letter')} of group ${group} are removed for good. ` +
    `If its document was deleted meanwhile, a letter may hold the last copy.`
  return answer(isDry, text, found)
}

interface Chosen {
  readonly letters: DocumentDeadLetters
  readonly group: string
  readonly ids: readonly string[] | undefined
}

async function chosen(context: DashboardContext, body: ActionBody): Promise<Chosen> {
  const place = { database: body.text('database'), collection: body.text('collection') }
  const [group, ids] = [body.text('group'), body.texts('ids')]
  if (ids !== undefined && (ids.length === 0 || ids.length > MOST_CHOSEN)) {
    throw badRequest(`ids must be 1 to ${MOST_CHOSEN} letters, or null for all`)
  }
  const { letters } = await lettersOf(context, place, body.optionalText('letters'))
  if (letters === undefined) throw notFound('there are no dead letters')
  return { letters, group, ids }
}

async function present(
  letters: DocumentDeadLetters,
  group: string,
  ids: readonly string[] | undefined,
): Promise<{ readonly letters: number; readonly missing: number }> {
  const page = await letters.list({ group, maxItemCount: MOST_COUNTED })
  if (ids === undefined) return { letters: page.letters.length, missing: 0 }
  const known = new Set(page.letters.map(({ id }) => id))
  const found = ids.filter((id) => known.has(id)).length
  return { letters: found, missing: ids.length - found }
}

function outcome({
  done,
  missing,
}: {
  readonly done: readonly string[]
  readonly missing: readonly string[]
}): { readonly letters: number; readonly missing: number } {
  return { letters: done.length, missing: missing.length }
}

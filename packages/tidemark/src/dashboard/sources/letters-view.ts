import type { DeadLetterEntry } from '@tidemark/processor'
import { feedRangeId, type Change } from '@tidemark/contracts'
import { hideCredentials } from '@tidemark/contracts/internal'
import { deadLettersId } from '../../open-dead-letters.ts'
import { badRequest, notFound } from '../requests/refusal.ts'
import type { Query } from '../requests/query.ts'
import type { LetterAnswer, LetterRow, LettersView } from '../views.ts'
import { collectionOf, existing, lettersOf, type DashboardContext } from './dashboard-context.ts'

const PAGE = 100

/** Rejects with ERR_NOT_FOUND when there is no such collection. */
export async function readLettersView(
  context: DashboardContext,
  query: Query,
): Promise<LettersView> {
  const place = collectionOf(query)
  const [group, after] = [query.optional('group'), query.optional('after')]
  if (after !== undefined && group === undefined) throw badRequest('after needs group')
  const { id, letters } = await lettersOf(context, place, query.optional('letters'))
  const groups = (await letters?.listGroups()) ?? []
  const rows: LetterRow[] = []
  const show = (text: string): string => context.texts.error(text, place)
  let next: string | undefined
  let isCut = false
  for (const one of letters === undefined ? [] : group === undefined ? groups : [group]) {
    const page = await letters?.list({ group: one, maxItemCount: PAGE, continuation: after })
    const room = PAGE - rows.length
    const found = page?.letters ?? []
    rows.push(...found.slice(0, room).map((letter) => letterRow(letter, show)))
    isCut ||= found.length > room || page?.continuation !== undefined
    if (group !== undefined) next = page?.continuation
  }
  const atMs = context.clock.wallMs()
  const head = { ...place, letters: id, groups, next: next ?? null, truncated: isCut }
  return { atMs, head, tables: { letters: rows } }
}

/** Rejects with ERR_NOT_FOUND. */
export async function readLetter(context: DashboardContext, query: Query): Promise<LetterAnswer> {
  const place = collectionOf(query)
  const id = query.required('id')
  const { id: holding, letters } = await lettersOf(context, place, query.optional('letters'))
  const letter = await letters?.read(id)
  const { identity } = await existing(context.store, place)
  // Of another collection the mask may hide more.
  const isOwn = letter?.feed === identity || holding === deadLettersId(place.collection)
  if (letter === undefined || !isOwn) throw notFound(`there is no dead letter ${id}`)
  const { change, error, lsn, group, attempts, hostName, failedAtMs, range } = letter
  return {
    id,
    group,
    lsn,
    kind: change.kind,
    documentId: change.id,
    key: JSON.stringify(change.partitionKey) ?? '{}',
    error: context.texts.error(errorText(error), place),
    attempts,
    host: hostName,
    failedMs: failedAtMs,
    range: feedRangeId(range),
    stack:
      error.stack === undefined ? null : context.texts.error(hideCredentials(error.stack), place),
    ...context.texts.json(documentOf(change), { kind: 'deadLetter', ...place }),
  }
}

/** The newest version that a change holds. */
export function documentOf(change: Change): unknown {
  switch (change.kind) {
    case 'document':
      return change.document
    case 'pendingDelete':
      return change.lastVersion
    case 'version':
      return change.current ?? change.previous
  }
}

function letterRow(letter: DeadLetterEntry, show: (text: string) => string): LetterRow {
  const { id, group, state, lsn, kind, documentId, attempts, redrives } = letter
  return {
    id,
    group,
    state,
    lsn,
    kind,
    documentId,
    key: letter.partitionKey,
    error: show(errorText(letter.error)),
    attempts,
    host: letter.hostName,
    failedMs: letter.failedAtMs,
    redrives,
  }
}

function errorText({ name, message }: DeadLetterEntry['error']): string {
  return hideCredentials(`${name}: ${message}`).slice(0, 2_000)
}

import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { CollectionQuery, LetterRow, LettersView } from '../../../src/dashboard/views.ts'
import { count } from '../format.ts'
import { useView } from '../live/use-view.ts'
import { href, route, setQuery, valuesOf } from '../route.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { choiceColumn } from '../ui/choice-column.tsx'
import { ActionDialog } from '../ui/action-dialog.tsx'
import { Card, Heading, Waiting } from '../ui/parts.tsx'
import { Table, type Column } from '../ui/table.tsx'
import { Moment } from '../ui/time.tsx'
import { LetterDialog } from './letter-dialog.tsx'

export function LettersPage({ database, collection }: CollectionQuery): VNode {
  const { query } = route.value
  const place = { database, collection, ...valuesOf(query, ['letters', 'group', 'after']) }
  const { view, problem } = useView('letters', place)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(NONE)
  return (
    <>
      <Heading
        title={`Dead letters of ${collection}`}
        crumbs={[
          { text: 'Dead letters', href: href(['letters']) },
          { text: `${database}/${collection}`, href: href(['collections', database, collection]) },
        ]}
        buttons={view && <LetterActions view={view} chosen={chosen} setChosen={setChosen} />}
      />
      {view === undefined ? (
        <Waiting problem={problem} />
      ) : (
        <LettersCard view={view} chosen={chosen} setChosen={setChosen} />
      )}
    </>
  )
}

const NONE: ReadonlySet<string> = new Set()
interface ChoiceProps {
  readonly view: LettersView
  readonly chosen: ReadonlySet<string>
  readonly setChosen: (chosen: ReadonlySet<string>) => void
}

/** On those that are chosen, or on all of the group that is shown. */
function LetterActions({ view, chosen, setChosen }: ChoiceProps): VNode {
  const { database, collection, letters, groups } = view.head
  const rows = view.tables.letters.filter(({ id }) => chosen.has(id))
  const asked = route.value.query.get('group') ?? (groups.length === 1 ? groups[0] : undefined)
  const group = rows[0]?.group ?? asked
  const refusal = refusalOf(rows, group)
  const isAll = rows.length === 0
  const what = isAll ? 'all' : count(rows.length)
  const body = {
    database,
    collection,
    letters,
    group: group ?? '',
    ids: isAll ? null : rows.map(({ id }) => id),
  }
  const done = (): void => setChosen(NONE)
  return (
    <>
      <ActionButton
        text={`Redrive ${what} …`}
        refusal={refusal}
        dialog={(onClose) => (
          <ActionDialog
            action="redriveLetters"
            title={`Redrive ${what} of group ${group}`}
            verb="Redrive"
            body={body}
            onClose={onClose}
            onDone={done}
          />
        )}
      />
      <ActionButton
        text={`Drop ${what} …`}
        refusal={refusal}
        dialog={(onClose) => (
          <ActionDialog
            action="dropLetters"
            title={`Drop ${what} of group ${group}`}
            verb="Drop for good"
            isDangerous
            body={body}
            onClose={onClose}
            onDone={done}
          />
        )}
      />
    </>
  )
}

function refusalOf(rows: readonly LetterRow[], group: string | undefined): string | undefined {
  if (group === undefined) return 'Choose letters, or a group.'
  if (rows.some((row) => row.group !== group))
    return 'The letters are of several groups: choose one.'
  return undefined
}

function LettersCard({ view, chosen, setChosen }: ChoiceProps): VNode {
  const { head, tables } = view
  const { letters } = tables
  const { query } = route.value
  const [opened, setOpened] = useState<LetterRow | undefined>()
  const columns = useMemo(
    () => [
      choiceColumn({
        rows: letters,
        chosen,
        setChosen,
        nameOf: ({ documentId }: LetterRow) => `letter of ${documentId}`,
      }),
      ...columnsOf(setOpened),
    ],
    [letters, chosen, setChosen],
  )
  return (
    <Card
      title={`${count(letters.length)}${head.truncated ? ' of more' : ''}, oldest first`}
      end={
        <>
          <span class="muted">
            kept in <code>{head.letters}</code>
          </span>
          <GroupSelect groups={head.groups} value={query.get('group') ?? ''} />
        </>
      }
    >
      <Table
        caption="Dead letters, oldest first"
        rows={letters}
        columns={columns}
        maxRows={18}
        empty="There are no dead letters here."
      />
      <div class="body form">
        <button
          type="button"
          disabled={query.get('after') === undefined}
          onClick={() => setQuery({ after: undefined })}
        >
          First page
        </button>
        <button
          type="button"
          disabled={head.next === null}
          onClick={() => setQuery({ after: head.next ?? undefined })}
        >
          Next page
        </button>
      </div>
      {opened !== undefined && (
        <LetterDialog
          query={{
            database: head.database,
            collection: head.collection,
            letters: head.letters,
            id: opened.id,
          }}
          onClose={() => setOpened(undefined)}
        />
      )}
    </Card>
  )
}

function GroupSelect({ groups, value }: { groups: readonly string[]; value: string }): VNode {
  return (
    <select
      aria-label="Group"
      value={value}
      onChange={({ currentTarget }) => setQuery({ group: currentTarget.value, after: undefined })}
    >
      <option value="">all groups</option>
      {groups.map((group) => (
        <option key={group} value={group}>
          {group}
        </option>
      ))}
    </select>
  )
}

const FACTS: readonly Column<LetterRow>[] = [
  {
    key: 'group',
    title: 'Group',
    width: 120,
    cell: ({ group }) => group,
    by: ({ group }) => group,
  },
  { key: 'state', title: 'State', width: 84, isWideOnly: true, cell: ({ state }) => state },
  {
    key: 'attempts',
    title: 'Attempts',
    width: 84,
    isNumber: true,
    isWideOnly: true,
    cell: ({ attempts }) => count(attempts),
    by: ({ attempts }) => attempts,
  },
  {
    key: 'redrives',
    title: 'Redrives',
    width: 84,
    isNumber: true,
    isWideOnly: true,
    cell: ({ redrives }) => count(redrives),
    by: ({ redrives }) => redrives,
  },
  {
    key: 'host',
    title: 'Host',
    width: 110,
    isWideOnly: true,
    cell: ({ host }) => host,
    by: ({ host }) => host,
  },
  {
    key: 'failed',
    title: 'Failed',
    width: 150,
    cell: ({ failedMs }) => <Moment ms={failedMs} />,
    by: ({ failedMs }) => failedMs,
  },
]

function columnsOf(open: (letter: LetterRow) => void): readonly Column<LetterRow>[] {
  return [
    {
      key: 'document',
      title: 'Document',
      width: 130,
      isRowHeader: true,
      cell: (letter) => (
        <button type="button" class="bare link" onClick={() => open(letter)}>
          {letter.documentId}
        </button>
      ),
      by: ({ documentId }) => documentId,
    },
    {
      key: 'error',
      title: 'Error',
      width: 230,
      grows: true,
      cell: ({ error }) => error,
      by: ({ error }) => error,
    },
    ...FACTS,
  ]
}

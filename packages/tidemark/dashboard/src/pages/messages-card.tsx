import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { MessageRow, MessagesQuery, QueueHead } from '../../../src/dashboard/views.ts'
import { count, plural } from '../format.ts'
import { useRead } from '../live/use-read.ts'
import { route, setQuery, valuesOf, type Route } from '../route.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { ActionDialog } from '../ui/action-dialog.tsx'
import { choiceColumn } from '../ui/choice-column.tsx'
import { Card, ProblemNotice } from '../ui/parts.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { Table, type Column } from '../ui/table.tsx'
import { Moment } from '../ui/time.tsx'
import { MessageDialog } from './message-dialog.tsx'

export interface MessagesCardProps {
  readonly head: QueueHead
  readonly times: number
  readonly setTimes: (next: (before: number) => number) => void
}

/** Messages in the order of their numbers. To look at them changes nothing. */
export function MessagesCard({ head, times, setTimes }: MessagesCardProps): VNode {
  const { query } = route.value
  const isDead = query.get('dead') === '1'
  const { answer, problem } = useRead('messages', askedFor(head, query), times)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(NONE)
  const [opened, setOpened] = useState<MessageRow | undefined>()
  const messages = answer?.messages ?? []
  const columns = useMemo(
    () => [
      choiceColumn({ rows: messages, chosen, setChosen, nameOf }),
      ...columnsOf(isDead, setOpened),
    ],
    [messages, chosen, isDead],
  )
  const again = (): void => {
    setChosen(NONE)
    setTimes((before) => before + 1)
  }
  return (
    <Card title={isDead ? 'Dead letters' : 'Messages'} end={<Filters head={head} />}>
      {problem !== undefined && <ProblemNotice problem={problem} />}
      <Table
        caption={isDead ? 'Dead letters, by number' : 'Messages, by number'}
        rows={messages}
        columns={columns}
        maxRows={14}
        empty="There are no such messages."
      />
      <div class="body form">
        <button type="button" onClick={() => setTimes((before) => before + 1)}>
          Look again
        </button>
        <button
          type="button"
          disabled={answer === undefined || answer.next === null}
          onClick={() => setQuery({ from: String(answer?.next ?? '') })}
        >
          Next page
        </button>
        <MessageActions
          head={head}
          isDead={isDead}
          chosen={messages.filter(({ id }) => chosen.has(id))}
          onDone={again}
        />
      </div>
      {opened !== undefined && (
        <MessageDialog message={opened} onClose={() => setOpened(undefined)} />
      )}
    </Card>
  )
}

const NONE: ReadonlySet<string> = new Set()

function nameOf({ number }: MessageRow): string {
  return `message ${number}`
}

function askedFor({ database, entity }: QueueHead, query: Route['query']): MessagesQuery {
  return { database, entity, ...valuesOf(query, ['dead', 'state', 'session', 'from']) }
}

function Filters({ head }: { readonly head: QueueHead }): VNode {
  const { query } = route.value
  const shown = query.get('dead') === '1' ? 'dead' : (query.get('state') ?? '')
  return (
    <>
      <select
        aria-label="Messages to show"
        value={shown}
        onChange={({ currentTarget: { value } }) =>
          setQuery({
            dead: value === 'dead' ? '1' : undefined,
            state: value === 'dead' ? undefined : value,
            from: undefined,
          })
        }
      >
        <option value="">all that wait</option>
        <option value="active">active</option>
        <option value="deferred">deferred</option>
        <option value="scheduled">scheduled</option>
        {head.dead !== null && <option value="dead">dead letters</option>}
      </select>
      {head.requiresSession === true && (
        <SearchBox
          label="Session"
          value={query.get('session') ?? ''}
          onChange={(session) => setQuery({ session, from: undefined })}
        />
      )}
    </>
  )
}

interface MessageActionsProps {
  readonly head: QueueHead
  readonly isDead: boolean
  readonly chosen: readonly MessageRow[]
  readonly onDone: () => void
}

function MessageActions({ head, isDead, chosen, onDone }: MessageActionsProps): VNode {
  const { database, entity } = head
  const numbers = chosen.map(({ number }) => number)
  if (isDead) {
    const what = numbers.length === 0 ? 'all' : plural(numbers.length, 'message')
    return (
      <ActionButton
        text={`Redrive ${what} …`}
        dialog={(onClose) => (
          <ActionDialog
            action="redriveMessages"
            title={`Redrive ${what} of ${entity}`}
            verb="Redrive"
            body={{ database, entity, numbers: numbers.length === 0 ? null : numbers }}
            onClose={onClose}
            onDone={onDone}
          />
        )}
      />
    )
  }
  const scheduled = chosen.filter(({ state }) => state === 'scheduled')
  const isFit = scheduled.length > 0 && scheduled.length === chosen.length
  return (
    <ActionButton
      text="Cancel scheduled …"
      refusal={isFit ? undefined : 'Choose scheduled messages first.'}
      dialog={(onClose) => (
        <ActionDialog
          action="cancelScheduled"
          title={`Cancel ${plural(numbers.length, 'scheduled message')} of ${entity}`}
          verb="Cancel them"
          isDangerous
          body={{ database, entity, numbers }}
          onClose={onClose}
          onDone={onDone}
        />
      )}
    />
  )
}

const FACTS: readonly Column<MessageRow>[] = [
  {
    key: 'id',
    title: 'Message id',
    width: 140,
    isWideOnly: true,
    cell: ({ messageId }) => <span class="mono">{messageId}</span>,
  },
  {
    key: 'session',
    title: 'Session',
    width: 100,
    isWideOnly: true,
    cell: ({ session }) => session ?? '',
  },
  {
    key: 'subject',
    title: 'Subject',
    width: 110,
    isWideOnly: true,
    cell: ({ subject }) => subject ?? '',
  },
  {
    key: 'deliveries',
    title: 'Deliveries',
    width: 88,
    isNumber: true,
    cell: ({ deliveries }) => count(deliveries),
  },
  {
    key: 'time',
    title: 'Enqueued',
    width: 150,
    isWideOnly: true,
    cell: ({ enqueuedMs, scheduledMs }) =>
      scheduledMs === null ? (
        <Moment ms={enqueuedMs} />
      ) : (
        <>
          at <Moment ms={scheduledMs} />
        </>
      ),
  },
  {
    key: 'body',
    title: 'Body',
    width: 180,
    grows: true,
    cell: ({ body }) => <span class="mono muted">{body.replaceAll(/\s+/g, ' ')}</span>,
  },
]

function columnsOf(
  isDead: boolean,
  open: (message: MessageRow) => void,
): readonly Column<MessageRow>[] {
  return [
    {
      key: 'number',
      title: 'Number',
      width: 84,
      isRowHeader: true,
      cell: (message) => (
        <button type="button" class="bare link" onClick={() => open(message)}>
          {count(message.number)}
        </button>
      ),
    },
    isDead
      ? {
          key: 'reason',
          title: 'Reason',
          width: 210,
          grows: true,
          cell: ({ deadReason, deadDescription }) =>
            [deadReason, deadDescription].filter(Boolean).join(': '),
        }
      : { key: 'state', title: 'State', width: 90, cell: ({ state }) => state },
    ...FACTS,
  ]
}

import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { QueueQuery, QueueView } from '../../../src/dashboard/views.ts'
import { bytes, count, duration } from '../format.ts'
import { useView } from '../live/use-view.ts'
import { href } from '../route.ts'
import { ActionButton } from '../ui/action-button.tsx'
import { Card, Figures, Heading, Waiting, type Figure } from '../ui/parts.tsx'
import { Table, type Column } from '../ui/table.tsx'
import { MessagesCard } from './messages-card.tsx'
import { QueuesTable } from './queues-table.tsx'
import { ScheduleDialog } from './schedule-dialog.tsx'
import { SessionsCard } from './sessions-card.tsx'

export function QueuePage({ database, entity }: QueueQuery): VNode {
  const { view, problem } = useView('queue', { database, entity })
  // Messages are read, not followed: after an action they are read again.
  const [times, setTimes] = useState(0)
  const [topic, , subscription] = entity.split('/')
  const name = subscription ?? entity
  const crumbs = [
    { text: 'Queues and topics', href: href(['queues']) },
    { text: database, href: href(['queues'], { find: `${database}/` }) },
    ...(subscription === undefined || topic === undefined
      ? []
      : [{ text: topic, href: href(['queues', database, topic]) }]),
  ]
  if (view === undefined) {
    return (
      <>
        <Heading title={name} crumbs={crumbs} />
        <Waiting problem={problem} />
      </>
    )
  }
  const { head } = view
  return (
    <>
      <Heading
        title={name}
        crumbs={crumbs}
        chips={
          <>
            <span class="chip">{head.kind}</span>
            {head.status !== 'Active' && <span class="chip warn">{head.status}</span>}
            {head.requiresSession === true && <span class="chip">with sessions</span>}
          </>
        }
        buttons={
          head.kind !== 'subscription' && (
            <ActionButton
              text="Send or schedule …"
              dialog={(onClose) => (
                <ScheduleDialog
                  head={head}
                  onClose={onClose}
                  onDone={() => setTimes((before) => before + 1)}
                />
              )}
            />
          )
        }
      />
      <QueueFigures view={view} />
      <Subscriptions view={view} />
      {head.kind === 'topic' && (head.scheduled > 0 || times > 0) && (
        <MessagesCard key="topic" head={head} times={times} setTimes={setTimes} />
      )}
      {head.kind !== 'topic' && (
        <MessagesCard key="queue" head={head} times={times} setTimes={setTimes} />
      )}
      {head.requiresSession === true && head.kind !== 'topic' && (
        <SessionsCard database={database} entity={entity} />
      )}
    </>
  )
}

function QueueFigures({ view: { head } }: { readonly view: QueueView }): VNode {
  const figures: readonly (Figure | undefined)[] = [
    known('Active', head.active, head.locked === null ? undefined : `${count(head.locked)} locked`),
    known('Deferred', head.deferred),
    known('Scheduled', head.scheduled),
    known(
      'Dead',
      head.dead,
      head.maxDeliveryCount === null
        ? undefined
        : `after ${count(head.maxDeliveryCount)} deliveries`,
    ),
    known('Expired', head.expired),
    { name: 'Size', value: bytes(head.bytes) },
    head.lockMs === null ? undefined : { name: 'Message lock', value: duration(head.lockMs) },
    head.forwardTo === null ? undefined : { name: 'Forwards to', value: head.forwardTo },
  ]
  return <Figures figures={figures.filter((figure) => figure !== undefined)} />
}

function known(name: string, value: number | null, note?: string): Figure | undefined {
  if (value === null) return undefined
  return note === undefined ? { name, value: count(value) } : { name, value: count(value), note }
}

const RULES: readonly Column<QueueView['tables']['rules'][number]>[] = [
  { key: 'name', title: 'Rule', width: 150, isRowHeader: true, cell: ({ id }) => id },
  {
    key: 'text',
    title: 'Filter and action',
    width: 300,
    grows: true,
    cell: ({ text }) => (
      <span class="mono" title={text}>
        {text}
      </span>
    ),
  },
]

function Subscriptions({ view: { head, tables } }: { readonly view: QueueView }): VNode | null {
  if (head.kind === 'topic') {
    return (
      <Card title="Subscriptions">
        <QueuesTable
          caption="Subscriptions of the topic"
          queues={tables.subscriptions}
          maxRows={12}
          empty="This topic has no subscriptions: what is sent to it goes nowhere."
        />
      </Card>
    )
  }
  if (head.kind !== 'subscription') return null
  return (
    <Card title="Rules">
      <Table
        caption="Rules of the subscription"
        rows={tables.rules}
        columns={RULES}
        maxRows={8}
        empty="It has no rules: it gets no messages."
      />
    </Card>
  )
}

import type { VNode } from 'preact'
import type { ActionAnswer, MoveRow } from '../../../src/dashboard/views.ts'
import { count } from '../format.ts'
import { tokenName } from '../range-name.ts'
import { Table, type Column } from './table.tsx'

const EFFECTS: Readonly<Record<MoveRow['effect'], string>> = {
  repeats: '↶ delivers again',
  skips: '↷ skips',
  none: 'stays',
}

const MOVES: readonly Column<MoveRow>[] = [
  {
    key: 'range',
    title: 'Range',
    width: 170,
    grows: true,
    isRowHeader: true,
    cell: ({ id }) => (
      <span class="mono" title={id}>
        {tokenName(id)}
      </span>
    ),
  },
  {
    key: 'from',
    title: 'LSN now',
    width: 84,
    isNumber: true,
    cell: ({ fromLsn }) => (fromLsn === null ? '–' : count(fromLsn)),
  },
  { key: 'to', title: 'then', width: 84, isNumber: true, cell: ({ toLsn }) => count(toLsn) },
  { key: 'effect', title: 'Effect', width: 140, cell: ({ effect }) => EFFECTS[effect] },
]

/** What an action does, or did. */
export function Effect({ answer: { text, moves } }: { readonly answer: ActionAnswer }): VNode {
  return (
    <>
      <p>{text}</p>
      {moves.length > 0 && (
        <Table
          caption="What it does to each range"
          rows={moves}
          columns={MOVES}
          maxRows={6}
          empty=""
        />
      )}
    </>
  )
}

import type { ComponentChildren, VNode } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import { isNarrow } from '../platform/browser.ts'
import { useRowWindow } from './window.ts'

export const ROW_HEIGHT = 28

export interface Column<Item> {
  readonly key: string
  readonly title: string
  /** Instead of the title. */
  readonly header?: ComponentChildren
  readonly headerClass?: string
  readonly cell: (item: Item) => ComponentChildren
  readonly cellClass?: string
  /** In px. */
  readonly width: number
  /** Takes what is left. */
  readonly grows?: boolean
  readonly isNumber?: boolean
  /** Names the row. */
  readonly isRowHeader?: boolean
  /** Left out on narrow screens. */
  readonly isWideOnly?: boolean
  /** What rows are sorted by if this column is chosen. */
  readonly by?: (item: Item) => number | string | null
}

export interface TableProps<Item> {
  readonly caption: string
  readonly rows: readonly Item[]
  readonly columns: readonly Column<Item>[]
  /** More rows are scrolled to. */
  readonly maxRows: number
  readonly empty: string
  /** Height of the header, in px. */
  readonly headHeight?: number
  readonly class?: string
}

interface Order {
  readonly key: string
  readonly direction: 1 | -1
}

/** Rows of equal height; only those that are seen are drawn. */
export function Table<Item extends { readonly id: string }>(props: TableProps<Item>): VNode {
  const { caption, rows, maxRows, empty, headHeight = ROW_HEIGHT } = props
  const narrow = isNarrow.value
  const columns = useMemo(
    () => props.columns.filter(({ isWideOnly }) => !(isWideOnly && narrow)),
    [props.columns, narrow],
  )
  const box = useRef<HTMLDivElement>(null)
  const [order, setOrder] = useState<Order | undefined>()
  const sorted = useMemo(() => inOrder(rows, columns, order), [rows, columns, order])
  const { first, end } = useRowWindow(box, { count: rows.length, rowHeight: ROW_HEIGHT, maxRows })
  if (rows.length === 0) return <p class="empty">{empty}</p>
  const height = Math.min(rows.length, maxRows) * ROW_HEIGHT + headHeight + 1
  const width = columns.reduce((sum, column) => sum + column.width, 0)
  return (
    <div
      class="scroll"
      ref={box}
      style={{ maxHeight: `${height + 14}px` }}
      tabIndex={0}
      role="region"
      aria-label={caption}
    >
      <table
        class={`fixed ${props.class ?? ''}`}
        style={{ minWidth: `${width}px` }}
        aria-rowcount={rows.length + 1}
      >
        <caption class="visually-hidden">{caption}</caption>
        <Head columns={columns} order={order} setOrder={setOrder} />
        <tbody>
          <Gap rows={first} columns={columns.length} />
          {sorted.slice(first, end).map((item, index) => (
            <tr key={item.id} aria-rowindex={first + index + 2}>
              {columns.map((column) => (
                <Cell key={column.key} column={column} item={item} />
              ))}
            </tr>
          ))}
          <Gap rows={rows.length - end} columns={columns.length} />
        </tbody>
      </table>
    </div>
  )
}

interface HeadProps<Item> {
  readonly columns: readonly Column<Item>[]
  readonly order: Order | undefined
  readonly setOrder: (order: Order) => void
}

function Head<Item>({ columns, order, setOrder }: HeadProps<Item>): VNode {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {columns.map((column) => {
          const direction = order?.key === column.key ? order.direction : undefined
          return (
            <th
              key={column.key}
              scope="col"
              class={classes(column, column.headerClass)}
              style={{ width: column.grows ? 'auto' : `${column.width}px` }}
              aria-sort={direction && (direction === 1 ? 'ascending' : 'descending')}
            >
              {column.by === undefined ? (
                (column.header ?? column.title)
              ) : (
                <button type="button" onClick={() => setOrder(nextOrder(column, direction))}>
                  {column.title}
                  {direction !== undefined && (
                    <span class="sort" aria-hidden="true">
                      {direction === 1 ? '↑' : '↓'}
                    </span>
                  )}
                </button>
              )}
            </th>
          )
        })}
      </tr>
    </thead>
  )
}

/** Numbers the greatest first, texts from A. */
function nextOrder<Item>({ key, isNumber }: Column<Item>, before: 1 | -1 | undefined): Order {
  if (before !== undefined) return { key, direction: before === 1 ? -1 : 1 }
  return { key, direction: isNumber ? -1 : 1 }
}

function Cell<Item>({ column, item }: { column: Column<Item>; item: Item }): VNode {
  const content = column.cell(item)
  const title = typeof content === 'string' ? content : undefined
  const name = classes(column, column.cellClass)
  return column.isRowHeader ? (
    <th scope="row" class={name} title={title}>
      {content}
    </th>
  ) : (
    <td class={name} title={title}>
      {content}
    </td>
  )
}

function classes<Item>({ isNumber }: Column<Item>, more = ''): string {
  return isNumber ? `number ${more}` : more
}

/** Stands for rows that are not drawn. */
function Gap({ rows, columns }: { readonly rows: number; readonly columns: number }): VNode | null {
  if (rows <= 0) return null
  return (
    <tr class="gap" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${rows * ROW_HEIGHT}px` }} />
    </tr>
  )
}

function inOrder<Item>(
  rows: readonly Item[],
  columns: readonly Column<Item>[],
  order: Order | undefined,
): readonly Item[] {
  const by = columns.find(({ key }) => key === order?.key)?.by
  if (by === undefined || order === undefined) return rows
  return rows.toSorted((a, b) => order.direction * compared(by(a), by(b)))
}

/** What is not known is below all that is. */
function compared(a: number | string | null, b: number | string | null): number {
  if (a === b) return 0
  if (a === null) return -1
  if (b === null) return 1
  return a < b ? -1 : 1
}

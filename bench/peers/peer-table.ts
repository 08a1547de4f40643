import type { Result } from '../measuring/run-scenario.ts'
import { median } from '../measuring/statistics.ts'
import type { PeerEntry } from './contract/peer.ts'
import type { PeerColumn, PeerFigures, PeerScenario } from './scenarios/peer-scenario.ts'

export interface MeasuredPeer {
  readonly entry: PeerEntry
  readonly runs: PeerFigures[]
}

/** What the others are compared with. */
const REFERENCE = 'embedded'

/** A table in Markdown: medians, and behind rates their ratio to ours, embedded. */
export function peerTable({ name, columns }: PeerScenario, peers: readonly MeasuredPeer[]): string {
  const rows = peers.map((peer) => [
    peer.entry.name,
    ...columns.map((column) => cell(column, peer, peers)),
  ])
  const heading = [name, ...columns.map(({ heading: text, unit }) => `${text}, ${unit}`)]
  const lines = [heading, heading.map(() => '---'), ...rows]
  return `\n${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`
}

export function resultsOf(
  { name, columns }: PeerScenario,
  peers: readonly MeasuredPeer[],
): readonly Result[] {
  return peers.flatMap((peer) =>
    columns.map((column) => {
      const value = medianOf(column, peer)
      const raw = referenceOf(column, peers)
      return {
        name: `peers.${name}.${peer.entry.name}.${column.name}`,
        value: round(value),
        unit: column.unit,
        raw: round(raw),
        ratio: round(value / raw),
        runs: peer.runs.map((figures) => round(figures[column.name] ?? Number.NaN)),
      }
    }),
  )
}

function cell(column: PeerColumn, peer: MeasuredPeer, peers: readonly MeasuredPeer[]): string {
  const value = medianOf(column, peer)
  if (Number.isNaN(value)) return '-'
  if (value === Number.POSITIVE_INFINITY) return 'never'
  const text = round(value).toLocaleString('en-US')
  const ratio = value / referenceOf(column, peers)
  return column.unit.endsWith('/s') && Number.isFinite(ratio)
    ? `${text} (${ratio.toFixed(2)})`
    : text
}

function medianOf({ name }: PeerColumn, { runs }: MeasuredPeer): number {
  return median(runs.map((figures) => figures[name] ?? Number.NaN))
}

function referenceOf(column: PeerColumn, peers: readonly MeasuredPeer[]): number {
  const reference = peers.find(({ entry }) => entry.name === REFERENCE)
  return reference === undefined ? Number.NaN : medianOf(column, reference)
}

/** Three significant digits: the figures are of one machine. */
function round(value: number): number {
  return Number(value.toPrecision(3))
}

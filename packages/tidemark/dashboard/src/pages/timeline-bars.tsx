import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { tokenName } from '../range-name.ts'
import { localTime } from '../ui/time.tsx'
import { useRowWindow, useWidth } from '../ui/window.ts'
import type { Hues } from './hues.ts'
import type { OwnershipBar, RangeHistory } from './ownership-bars.ts'
import { isMarked, TRANSITIONS, transitionShape } from './transitions.tsx'

export interface TimelineBarsProps {
  readonly ranges: readonly RangeHistory[]
  readonly hues: Hues
  readonly begin: number
  readonly end: number
  readonly label: string
}

const ROW = 24
const AXIS = 24
const MAX_ROWS = 14
const NAMES = 150
const NAMES_NARROW = 84
/** Of text of 11 px, about. */
const CHARACTER = 6.7

/** A row for each range, a bar for each owner. Only the rows that are seen are drawn. */
export function TimelineBars({ ranges, hues, begin, end, label }: TimelineBarsProps): VNode {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box, 900)
  const { first, end: last } = useRowWindow(box, {
    count: ranges.length,
    rowHeight: ROW,
    maxRows: MAX_ROWS,
  })
  const names = width < 560 ? NAMES_NARROW : NAMES
  const scale: Scale = { begin, end, left: names, right: width - 14 }
  const height = Math.min(ranges.length, MAX_ROWS) * ROW + AXIS + 2
  return (
    <div
      class="scroll timeline"
      ref={box}
      style={{ height: `${Math.max(height, 4 * ROW)}px` }}
      tabIndex={0}
      role="region"
      aria-label="Owners of ranges over time"
    >
      <svg class="axis" width={width} height={AXIS} aria-hidden="true">
        {ticks(scale).map((ms) => (
          <text key={ms} x={placeOf(scale, ms)} y={16} text-anchor="middle">
            {localTime(ms)}
          </text>
        ))}
      </svg>
      {ranges.length === 0 && <p class="empty">Nothing moved in this time.</p>}
      <svg width={width} height={ranges.length * ROW} role="img" aria-label={label}>
        {ticks(scale).map((ms) => (
          <line
            key={ms}
            class="tick"
            x1={placeOf(scale, ms)}
            x2={placeOf(scale, ms)}
            y1={0}
            y2={ranges.length * ROW}
          />
        ))}
        {ranges.slice(first, last).map((range, index) => (
          <RangeBars
            key={range.id}
            range={range}
            hues={hues}
            scale={scale}
            y={(first + index) * ROW}
          />
        ))}
      </svg>
    </div>
  )
}

interface Scale {
  readonly begin: number
  readonly end: number
  /** In px. */
  readonly left: number
  readonly right: number
}

function placeOf({ begin, end, left, right }: Scale, ms: number): number {
  const share = (Math.min(Math.max(ms, begin), end) - begin) / Math.max(1, end - begin)
  return Math.round(left + share * (right - left))
}

const STEPS_MS = [
  1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000,
  7_200_000, 21_600_000, 86_400_000, 604_800_000,
]
const TICK_WIDTH = 84

function ticks({ begin, end, left, right }: Scale): readonly number[] {
  const most = Math.max(1, Math.floor((right - left) / TICK_WIDTH))
  const step = STEPS_MS.find((ms) => (end - begin) / ms <= most) ?? end - begin
  const firstTick = Math.ceil(begin / step) * step
  const found: number[] = []
  for (let ms = firstTick; ms < end && found.length < most; ms += step) found.push(ms)
  return found
}

interface RangeBarsProps {
  readonly range: RangeHistory
  readonly hues: Hues
  readonly scale: Scale
  readonly y: number
}

function RangeBars({ range: { id, bars, transitions }, hues, scale, y }: RangeBarsProps): VNode {
  const name = tokenName(id)
  const room = Math.floor((scale.left - 16) / CHARACTER)
  return (
    <g transform={`translate(0 ${y})`}>
      <text class="range mono" x={12} y={16}>
        {cut(name, room)}
        <title>{id}</title>
      </text>
      {bars.map((bar) => (
        <Bar key={`${bar.host} ${bar.fromMs}`} bar={bar} hues={hues} scale={scale} />
      ))}
      {transitions
        .filter(({ atMs, kind }) => atMs >= scale.begin && isMarked(kind))
        .map((transition) => (
          <g
            key={transition.id}
            transform={`translate(${placeOf(scale, transition.atMs)} ${ROW / 2})`}
          >
            {transitionShape(transition.kind)}
            <title>
              {`${localTime(transition.atMs)} ${TRANSITIONS[transition.kind].text}: ${transition.from ?? 'nobody'} → ${transition.to ?? 'nobody'}`}
            </title>
          </g>
        ))}
    </g>
  )
}

interface BarProps {
  readonly bar: OwnershipBar
  readonly hues: Hues
  readonly scale: Scale
}

function Bar({ bar: { host, fromMs, toMs }, hues, scale }: BarProps): VNode | null {
  const from = fromMs ?? scale.begin
  const to = toMs ?? scale.end
  if (to < scale.begin) return null
  const x = placeOf(scale, from)
  const width = Math.max(2, placeOf(scale, to) - x)
  const room = Math.floor((width - 14) / CHARACTER)
  return (
    <g class={`hue-${hues(host)}`}>
      <rect class="bar" x={x} y={3.5} width={width} height={ROW - 7} rx={3} />
      {room > 2 && (
        <text x={x + 9} y={16}>
          {cut(host, room)}
        </text>
      )}
      <title>
        {`${host}: ${fromMs === undefined ? 'from before' : localTime(from)} to ${toMs === undefined ? 'now' : localTime(to)}`}
      </title>
    </g>
  )
}

function cut(text: string, room: number): string {
  return text.length > room ? `${text.slice(0, Math.max(1, room - 1))}…` : text
}

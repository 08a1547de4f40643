import { useEffect, useRef, useState } from 'preact/hooks'
import type { VNode } from 'preact'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { schemeChanges } from '../platform/browser.ts'
import { localTime } from './time.tsx'
import { useWidth, type Box } from './window.ts'

export interface Series {
  readonly name: string
  /** One a time; null: not known. */
  readonly values: readonly (number | null)[]
}

export interface ChartProps {
  /** Says what is drawn to those who do not see it. */
  readonly label: string
  /** Epoch ms, ascending. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  /** The scale never ends below it. */
  readonly leastTop: number
}

const HEIGHT = 190
/** So that lines differ without their colours, too. */
const DASHES: readonly (readonly number[])[] = [
  [],
  [],
  [7, 4],
  [2, 3],
  [9, 3, 2, 3],
  [4, 4],
  [12, 4],
]

/** Lines over time, with the values at the pointer, or the last ones, in the legend. */
export function Chart({ label, times, series, format, leastTop }: ChartProps): VNode {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box, 600)
  const [pointed, setPointed] = useState<number | undefined>()
  const plot = usePlot(box, {
    names: series.map(({ name }) => name).join('\n'),
    format,
    leastTop,
    setPointed,
  })
  const drawnScheme = schemeChanges.value
  useEffect(() => plot.current?.setSize({ width, height: HEIGHT }), [width])
  useEffect(() => plot.current?.redraw(false), [drawnScheme])
  useEffect(() => {
    plot.current?.setData([
      times.map((ms) => ms / 1_000),
      ...series.map(({ values }) => [...values]),
    ])
  }, [times, series])
  const index = pointed === undefined || pointed >= times.length ? times.length - 1 : pointed
  return (
    <div class="chart">
      <div class="plot" ref={box} role="img" aria-label={label}>
        <span class="axis-color" />
        <span class="grid-color" />
        {series.map((_, at) => (
          <span key={at} class={`series-${at}`} />
        ))}
      </div>
      <ul class="legend" aria-label={`${label}: last values`}>
        {series.map(({ name, values }, at) => (
          <li key={name}>
            <svg class={`series-${at}`} viewBox="0 0 22 8" aria-hidden="true">
              <line
                x1="0"
                y1="4"
                x2="22"
                y2="4"
                stroke-width={at === 0 ? 3 : 2}
                stroke-dasharray={DASHES[at]?.join(' ')}
              />
            </svg>
            <span class={name.includes('–') ? 'mono' : undefined}>{name}</span>
            <span class="muted">{shown(values[index], format)}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}

function shown(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value)
}

interface PlotOptions {
  /** Another plot is made when they change. */
  readonly names: string
  readonly format: (value: number) => string
  readonly leastTop: number
  readonly setPointed: (index: number | undefined) => void
}

function usePlot(
  box: Box,
  { names, format, leastTop, setPointed }: PlotOptions,
): { readonly current: uPlot | null } {
  const plot = useRef<uPlot>(null)
  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const color = (name: string) => (): string => {
      const probe = element.querySelector(`.${name}`)
      return probe === null ? 'gray' : getComputedStyle(probe).color
    }
    const count = names === '' ? 0 : names.split('\n').length
    const axis = { stroke: color('axis-color'), grid: { stroke: color('grid-color'), width: 1 } }
    plot.current = new uPlot(
      {
        width: element.clientWidth || 600,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
        scales: { y: { range: (_, __, max) => [0, Math.max(leastTop, max * 1.08)] } },
        axes: [
          {
            ...axis,
            size: 26,
            space: 72,
            ticks: { show: false },
            values: (_, ticks) => ticks.map((s) => tickText(s, ticks)),
          },
          { ...axis, ticks: { show: false }, size: 58, values: (_, ticks) => ticks.map(format) },
        ],
        series: [
          {},
          ...Array.from({ length: count }, (_, at) => ({
            stroke: color(`series-${at}`),
            width: at === 0 ? 2 : 1.5,
            dash: [...(DASHES[at] ?? [])],
            points: { show: false },
          })),
        ],
        hooks: { setCursor: [({ cursor: { idx } }) => setPointed(idx ?? undefined)] },
      },
      [[], ...Array.from({ length: count }, () => [])],
      element,
    )
    return () => plot.current?.destroy()
  }, [names])
  return plot
}

/** Without seconds where no tick has any. */
function tickText(seconds: number, ticks: readonly number[]): string {
  const text = localTime(seconds * 1_000)
  return ticks.every((tick) => tick % 60 === 0) ? text.slice(0, 5) : text
}

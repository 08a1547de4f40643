import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type { LagSample } from '../../../src/dashboard/views.ts'
import { count, duration } from '../format.ts'
import { tokenName } from '../range-name.ts'
import { Chart, type Series } from '../ui/chart.tsx'
import { Card } from '../ui/parts.tsx'

export interface LagChartsProps {
  /** Oldest first. */
  readonly samples: readonly LagSample[]
  readonly sampleMs: number
}

/** Ranges with a line of their own. */
const SHOWN = 6
/** A sample names the worst ranges, at most as many. */
const NAMED = 12

export function LagCharts({ samples, sampleMs }: LagChartsProps): VNode {
  const times = useMemo(() => samples.map(({ atMs }) => atMs), [samples])
  const all = useMemo(
    (): readonly Series[] => [
      { name: 'all ranges', values: samples.map(({ changes }) => changes) },
    ],
    [samples],
  )
  const worst = useMemo(() => worstRanges(samples), [samples])
  const ages = useMemo(
    (): readonly Series[] => [{ name: 'oldest change', values: samples.map(({ ageMs }) => ageMs) }],
    [samples],
  )
  const every = <span class="muted">a sample every {duration(sampleMs)}</span>
  return (
    <div class="columns">
      <Card title="Lag in changes" class="third" end={every}>
        <Chart
          label="Changes left, of all ranges"
          times={times}
          series={all}
          format={count}
          leastTop={5}
        />
      </Card>
      <Card title="Worst ranges" class="third">
        <Chart
          label="Changes left, of the ranges that are furthest behind"
          times={times}
          series={worst}
          format={count}
          leastTop={5}
        />
      </Card>
      <Card title="Lag in time" class="third">
        <Chart
          label="Age of the oldest change left"
          times={times}
          series={ages}
          format={duration}
          leastTop={2_000}
        />
      </Card>
    </div>
  )
}

/** The ranges that were furthest behind. */
export function worstRanges(samples: readonly LagSample[]): readonly Series[] {
  const most = new Map<string, number>()
  for (const { leases } of samples) {
    for (const [lease, changes] of leases) {
      most.set(lease, Math.max(most.get(lease) ?? 0, changes))
    }
  }
  const worst = [...most].toSorted(([, a], [, b]) => b - a).slice(0, SHOWN)
  return worst.map(([lease]) => ({
    name: tokenName(lease),
    values: samples.map(({ leases }) => changesOf(lease, leases)),
  }))
}

/** Not among the worst, of which there are as many as can be named: less than those, but how much is not known. */
function changesOf(lease: string, leases: LagSample['leases']): number | null {
  const named = leases.find(([id]) => id === lease)
  return named?.[1] ?? (leases.length < NAMED ? 0 : null)
}

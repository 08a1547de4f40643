import type { VNode } from 'preact'
import type { RangeRow } from '../../../src/dashboard/views.ts'
import { rangeName } from '../range-name.ts'

export interface RangeSelectProps {
  readonly ranges: readonly RangeRow[]
  /** Empty: all. */
  readonly value: string
  readonly onChange: (range: string) => void
}

export function RangeSelect({ ranges, value, onChange }: RangeSelectProps): VNode {
  return (
    <label>
      Range
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">all ranges</option>
        {ranges.map(({ id, from, to }) => (
          <option key={id} value={id}>
            {id}: {rangeName(from, to)}
          </option>
        ))}
      </select>
    </label>
  )
}

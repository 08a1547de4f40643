import { count, duration } from '../format.ts'

/** Changes that are left; `≥` where more of them may be. */
export function changesText(lag: {
  readonly changes: number | null
  readonly isExact: boolean
}): string {
  if (lag.changes === null) return '–'
  return `${lag.isExact ? '' : '≥ '}${count(lag.changes)}`
}

/** Age of the oldest change that is left. */
export function ageText({ ageMs }: { readonly ageMs: number | null }): string {
  return ageMs === null ? '–' : ageMs === 0 ? '0 s' : duration(ageMs)
}

import type { VNode } from 'preact'
import { duration } from '../format.ts'
import { isoOf } from '../platform/browser.ts'
import { nowMs } from '../live/use-view.ts'

const SECONDS = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })

/** In the zone of whoever looks. */
export function localTime(ms: number): string {
  return SECONDS.format(ms)
}

export function localDateTime(ms: number): string {
  return `${DAY.format(ms)} ${SECONDS.format(ms)}`
}

/** Of today without its date. */
function shortest(ms: number): string {
  return DAY.format(ms) === DAY.format(nowMs.peek()) ? localTime(ms) : localDateTime(ms)
}

function utc(ms: number): string {
  return `${isoOf(ms).slice(0, 19).replace('T', ' ')} UTC`
}

/** A moment in local time, with UTC in its title. */
export function Moment({ ms }: { readonly ms: number | null }): VNode {
  if (ms === null) return <span class="muted">–</span>
  return (
    <time dateTime={isoOf(ms)} title={utc(ms)}>
      {shortest(ms)}
    </time>
  )
}

/** How long ago something was; counts on by itself. */
export function Age({ ms }: { readonly ms: number | null }): VNode {
  if (ms === null) return <span class="muted">–</span>
  const age = Math.max(0, nowMs.value - ms)
  return (
    <time dateTime={isoOf(ms)} title={utc(ms)}>
      {age < 1_000 ? 'now' : `${duration(Math.floor(age / 1_000) * 1_000).replace('.0', '')} ago`}
    </time>
  )
}

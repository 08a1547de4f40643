import type { Json } from '../json.ts'
import { anyFunction, type FunctionTable, type SqlFunction } from './sql-function.ts'
import {
  daysInMonth,
  formatDateTime,
  momentOfParts,
  parseDateTime,
  partsOfMoment,
  type DateTimeParts,
  type Moment,
} from './utc-date-time.ts'

type Unit = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'ms' | 'us' | 'ns'

const UNITS: Readonly<Record<string, Unit>> = {
  year: 'year',
  yyyy: 'year',
  yy: 'year',
  month: 'month',
  mm: 'month',
  m: 'month',
  day: 'day',
  dd: 'day',
  d: 'day',
  hour: 'hour',
  hh: 'hour',
  minute: 'minute',
  mi: 'minute',
  n: 'minute',
  second: 'second',
  ss: 'second',
  s: 'second',
  millisecond: 'ms',
  ms: 'ms',
  microsecond: 'us',
  mcs: 'us',
  nanosecond: 'ns',
  ns: 'ns',
}

/** Ticks of 100 ns; a nanosecond is a part of one. */
const UNIT_TICKS = {
  day: 864_000_000_000,
  hour: 36_000_000_000,
  minute: 600_000_000,
  second: 10_000_000,
  ms: 10_000,
  us: 10,
  ns: 0.01,
} as const

const NOW: SqlFunction = anyFunction([0, 0], (_values, { nowMs }) =>
  formatDateTime({ ms: Math.trunc(nowMs), ticks: 0 }),
)
const NOW_MS: SqlFunction = anyFunction([0, 0], (_values, { nowMs }) => Math.trunc(nowMs))
const NOW_TICKS: SqlFunction = anyFunction(
  [0, 0],
  (_values, { nowMs }) => Math.trunc(nowMs) * 10_000,
)

function unitOf(value: Json): Unit | undefined {
  if (typeof value !== 'string') return undefined
  const name = value.toLowerCase()
  return Object.hasOwn(UNITS, name) ? UNITS[name] : undefined
}

function momentOf(value: Json): Moment | undefined {
  return typeof value === 'string' ? parseDateTime(value) : undefined
}

function dateTimePart(unit: Unit, moment: Moment): number | undefined {
  const parts = partsOfMoment(moment)
  if (parts === undefined) return undefined
  if (unit === 'ms') return Math.floor(parts.fraction / UNIT_TICKS.ms)
  if (unit === 'us') return Math.floor(parts.fraction / UNIT_TICKS.us)
  return unit === 'ns' ? parts.fraction * 100 : parts[unit]
}

function addMonths(parts: DateTimeParts, count: number): Moment | undefined {
  const months = parts.year * 12 + parts.month - 1 + count
  const year = Math.floor(months / 12)
  const month = months - year * 12 + 1
  if (year < 1 || year > 9999) return undefined
  // The 31st of a month without one is its last day.
  return momentOfParts({
    ...parts,
    year,
    month,
    day: Math.min(parts.day, daysInMonth(year, month)),
  })
}

function addTo(moment: Moment, unit: Unit, count: number): Moment | undefined {
  if (unit === 'year' || unit === 'month') {
    const parts = partsOfMoment(moment)
    return parts && addMonths(parts, unit === 'year' ? count * 12 : count)
  }
  const ticks = moment.ticks + Math.trunc(count * UNIT_TICKS[unit])
  return { ms: moment.ms + Math.floor(ticks / 10_000), ticks: ((ticks % 10_000) + 10_000) % 10_000 }
}

/** How many boundaries of the unit lie between two moments, as the service counts. */
function unitsBetween(unit: Unit, from: Moment, to: Moment): number | undefined {
  if (unit === 'year' || unit === 'month') {
    const start = partsOfMoment(from)
    const end = partsOfMoment(to)
    if (start === undefined || end === undefined) return undefined
    const years = end.year - start.year
    return unit === 'year' ? years : years * 12 + end.month - start.month
  }
  const ticks = UNIT_TICKS[unit]
  if (ticks < UNIT_TICKS.ms)
    return Math.trunc(((to.ms - from.ms) * 10_000 + to.ticks - from.ticks) / ticks)
  const unitMs = ticks / UNIT_TICKS.ms
  return Math.floor(to.ms / unitMs) - Math.floor(from.ms / unitMs)
}

function momentOfTicks(ticks: number): Moment {
  const ms = Math.floor(ticks / 10_000)
  return { ms, ticks: ticks - ms * 10_000 }
}

function dateTimeFromParts(values: readonly Json[]): string | undefined {
  const [year = 1, month = 1, day = 1, hour = 0, minute = 0, second = 0, fraction = 0] =
    values.filter((value) => typeof value === 'number')
  const moment = momentOfParts({ year, month, day, hour, minute, second, fraction })
  return moment && formatDateTime(moment)
}

/** Functions of dates and times, all in UTC and in the service's ISO 8601 form. */
export const DATE_FUNCTIONS: FunctionTable = {
  GETCURRENTDATETIME: NOW,
  GETCURRENTDATETIMESTATIC: NOW,
  GETCURRENTTIMESTAMP: NOW_MS,
  GETCURRENTTIMESTAMPSTATIC: NOW_MS,
  GETCURRENTTICKS: NOW_TICKS,
  GETCURRENTTICKSSTATIC: NOW_TICKS,
  DATETIMETOTIMESTAMP: anyFunction([1, 1], ([text]) => momentOf(text)?.ms),
  TIMESTAMPTODATETIME: anyFunction([1, 1], ([ms]) =>
    typeof ms === 'number' ? formatDateTime({ ms: Math.trunc(ms), ticks: 0 }) : undefined,
  ),
  DATETIMETOTICKS: anyFunction([1, 1], ([text]) => {
    const moment = momentOf(text)
    return moment && moment.ms * 10_000 + moment.ticks
  }),
  TICKSTODATETIME: anyFunction([1, 1], ([ticks]) =>
    typeof ticks === 'number' ? formatDateTime(momentOfTicks(Math.trunc(ticks))) : undefined,
  ),
  DATETIMEPART: anyFunction([2, 2], ([unitName, text]) => {
    const unit = unitOf(unitName)
    const moment = momentOf(text)
    return unit && moment && dateTimePart(unit, moment)
  }),
  DATETIMEADD: anyFunction([3, 3], ([unitName, count, text]) => {
    const unit = unitOf(unitName)
    const moment = momentOf(text)
    if (unit === undefined || moment === undefined || typeof count !== 'number') return undefined
    const sum = addTo(moment, unit, Math.trunc(count))
    return sum && formatDateTime(sum)
  }),
  DATETIMEDIFF: anyFunction([3, 3], ([unitName, from, to]) => {
    const unit = unitOf(unitName)
    const start = momentOf(from)
    const end = momentOf(to)
    return unit && start && end && unitsBetween(unit, start, end)
  }),
  DATETIMEFROMPARTS: anyFunction([3, 7], (values) =>
    values.every((value) => typeof value === 'number') ? dateTimeFromParts(values) : undefined,
  ),
}

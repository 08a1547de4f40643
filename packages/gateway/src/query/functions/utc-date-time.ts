/** A moment as parts, in UTC. `fraction` is in ticks of 100 ns, 0 to 9,999,999. */
export interface DateTimeParts {
  readonly year: number
  /** 1 to 12. */
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  readonly fraction: number
}

/** A moment as whole milliseconds since 1970 and the ticks of 100 ns beyond them, 0 to 9,999. */
export interface Moment {
  readonly ms: number
  readonly ticks: number
}

const DAY_MS = 86_400_000
/** Years 1 to 9999, in ms since 1970: what the service's date functions know. */
const MIN_MS = -62_135_596_800_000
const MAX_MS = 253_402_300_799_999
const ISO_FORM =
  /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,7}))?)?)?(Z|[+-]\d\d:\d\d)?$/

/** Days since 1970-01-01 of a date of the Gregorian calendar, by counting from March of year 0. */
function daysOfDate(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year
  const monthFromMarch = (month + 9) % 12
  const dayOfYear = Math.floor((153 * monthFromMarch + 2) / 5) + day - 1
  const leapDays = Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400)
  return shifted * 365 + leapDays + dayOfYear - 719_468
}

/** Days of a month of the Gregorian calendar. */
export function daysInMonth(year: number, month: number): number {
  const [nextYear, nextMonth] = month === 12 ? [year + 1, 1] : [year, month + 1]
  return daysOfDate(nextYear, nextMonth, 1) - daysOfDate(year, month, 1)
}

/** Undefined for parts that no calendar has, or outside the years 1 to 9999. */
export function momentOfParts(parts: DateTimeParts): Moment | undefined {
  const { year, month, day, hour, minute, second, fraction } = parts
  const whole = [year, month, day, hour, minute, second, fraction].every(Number.isInteger)
  if (!whole || year < 1 || year > 9999 || month < 1 || month > 12) return undefined
  if (day < 1 || day > daysInMonth(year, month) || hour < 0 || hour > 23) return undefined
  if (minute < 0 || minute > 59 || second < 0 || second > 59) return undefined
  if (fraction < 0 || fraction > 9_999_999) return undefined
  const seconds = (hour * 60 + minute) * 60 + second
  return {
    ms: daysOfDate(year, month, day) * DAY_MS + seconds * 1000 + Math.floor(fraction / 10_000),
    ticks: fraction % 10_000,
  }
}

/** The parts of a moment in the years 1 to 9999, else undefined. */
export function partsOfMoment({ ms, ticks }: Moment): DateTimeParts | undefined {
  if (!(ms >= MIN_MS && ms <= MAX_MS)) return undefined
  const days = Math.floor(ms / DAY_MS)
  const msOfDay = ms - days * DAY_MS
  // Of the civil calendar in eras of 400 years, years beginning with March.
  const fromMarch = days + 719_468
  const era = Math.floor(fromMarch / 146_097)
  const dayOfEra = fromMarch - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153)
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1,
    hour: Math.floor(msOfDay / 3_600_000),
    minute: Math.floor(msOfDay / 60_000) % 60,
    second: Math.floor(msOfDay / 1000) % 60,
    fraction: (msOfDay % 1000) * 10_000 + ticks,
  }
}

/** A date or a date and time in ISO 8601, up to 7 digits of a second; without an offset it is UTC. */
export function parseDateTime(text: string): Moment | undefined {
  const found = ISO_FORM.exec(text)
  if (found === null) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', digits = '', zone = 'Z'] =
    found
  const moment = momentOfParts({
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    fraction: Number(digits.padEnd(7, '0')),
  })
  if (moment === undefined || zone === 'Z') return moment
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4))
  return { ...moment, ms: moment.ms - minutes * (zone.startsWith('-') ? -60_000 : 60_000) }
}

/** `YYYY-MM-DDThh:mm:ss.fffffffZ`, the service's form; undefined outside the years 1 to 9999. */
export function formatDateTime(moment: Moment): string | undefined {
  const parts = partsOfMoment(moment)
  if (parts === undefined) return undefined
  const digits = (value: number, width: number): string => String(value).padStart(width, '0')
  return (
    `${digits(parts.year, 4)}-${digits(parts.month, 2)}-${digits(parts.day, 2)}` +
    `T${digits(parts.hour, 2)}:${digits(parts.minute, 2)}:${digits(parts.second, 2)}` +
    `.${digits(parts.fraction, 7)}Z`
  )
}

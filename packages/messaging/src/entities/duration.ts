import { describeValue } from '@tidemark/contracts/internal'

/** ISO 8601, such as `PT1M30S`, or milliseconds. */
export type Duration = string | number

/** The longest duration: 2^63 - 1 ticks of 100 ns. As an option it means never (EXP-12, TMP-04). */
export const MAX_DURATION = 'P10675199DT2H48M5.4775807S'

const TICKS_A_MS = 10_000n
const MAX_TICKS = 2n ** 63n - 1n
const MAX_MS = Number(MAX_TICKS / TICKS_A_MS)

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['D', 86_400_000],
  ['H', 3_600_000],
  ['M', 60_000],
  ['S', 1000],
]

const AMOUNT = String.raw`(\d{1,15}(?:[.,]\d{1,9})?)`
const TEXT = new RegExp(
  `^P(?:${AMOUNT}W)?(?:${AMOUNT}D)?(?:T(?=[\\d])(?:${AMOUNT}H)?(?:${AMOUNT}M)?(?:${AMOUNT}S)?)?$`,
  'i',
)
const TEXT_UNITS_MS: readonly bigint[] = [604_800_000n, 86_400_000n, 3_600_000n, 60_000n, 1000n]

/** Milliseconds, undefined: never; or what is wrong, to stand behind the option's name. */
export type ReadDuration = { readonly ms: number | undefined } | { readonly problem: string }

/**
 * A duration exactly, whatever its length. Parts of a millisecond are cut off. Refuses months and years, negative ones,
 * and those above the longest one.
 */
export function readDuration(duration: Duration): ReadDuration {
  if (typeof duration === 'string') return readText(duration)
  if (Number.isSafeInteger(duration) && duration >= 0) return withoutMaximum(duration)
  return { problem: `must be whole milliseconds, or a duration of ISO 8601, got ${duration}` }
}

/** ISO 8601, without units that are zero: `PT1M30.5S`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return 'PT0S'
  let rest = ms
  let text = 'P'
  for (const [name, unitMs] of UNITS) {
    if (name === 'H' && rest > 0) text += 'T'
    const amount = name === 'S' ? rest / unitMs : Math.floor(rest / unitMs)
    rest -= Math.floor(rest / unitMs) * unitMs
    if (amount > 0) text += `${amount}${name}`
  }
  return text
}

/** As `formatDuration`; undefined for never. */
export function formatOptionalDuration(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : formatDuration(ms)
}

function withoutMaximum(ms: number): ReadDuration {
  return { ms: ms >= MAX_MS ? undefined : ms }
}

function readText(duration: string): ReadDuration {
  const parts = TEXT.exec(duration)
  if (parts === null || !/\d/.test(duration)) {
    const hint = /^P[^T]*[YM]/i.test(duration) ? ' (months and years have no fixed length)' : ''
    const got = describeValue(duration)
    return { problem: `must be a duration of ISO 8601, such as "PT1M30S"${hint}, got ${got}` }
  }
  let ticks = 0n
  for (const [at, unitMs] of TEXT_UNITS_MS.entries()) {
    ticks += partTicks(parts[at + 1] ?? '0', unitMs)
  }
  if (ticks > MAX_TICKS)
    return { problem: `must be at most ${MAX_DURATION}, got ${describeValue(duration)}` }
  return withoutMaximum(Number(ticks / TICKS_A_MS))
}

function partTicks(amount: string, unitMs: bigint): bigint {
  const [whole = '0', fraction = ''] = amount.split(/[.,]/)
  const scale = 10n ** BigInt(fraction.length)
  return (BigInt(whole + fraction) * unitMs * TICKS_A_MS) / scale
}

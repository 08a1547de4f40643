const NUMBER = new Intl.NumberFormat('en-US')
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

/** As it is, with groups of digits; from a million on in short. */
export function count(value: number): string {
  return Math.abs(value) < 1_000_000 ? NUMBER.format(Math.round(value)) : COMPACT.format(value)
}

/** Of something a second. */
export function rate(perSecond: number): string {
  if (perSecond > 0 && perSecond < 10) return `${perSecond.toFixed(1)}/s`
  return `${count(perSecond)}/s`
}

const UNITS: readonly (readonly [symbol: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
]

/** Two figures at most: `340 ms`, `4.2 s`, `3 min`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  const index = UNITS.findIndex(([, unit]) => ms >= unit)
  const [symbol, unit] = UNITS[index] ?? ['ms', 1]
  const whole = Math.floor(ms / unit)
  const next = UNITS[index + 1]
  if (next === undefined || symbol === 'min') return `${whole} ${symbol}`
  const rest = Math.floor((ms - whole * unit) / next[1])
  return rest === 0 ? `${whole} ${symbol}` : `${whole} ${symbol} ${rest} ${next[0]}`
}

export function bytes(value: number): string {
  if (value < 1_024) return `${value} B`
  const steps = ['KiB', 'MiB', 'GiB', 'TiB']
  let size = value / 1_024
  let step = 0
  while (size >= 1_024 && step < steps.length - 1) {
    size /= 1_024
    step += 1
  }
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${steps[step]}`
}

/** `1 range`, `4 ranges`; an irregular plural is given. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

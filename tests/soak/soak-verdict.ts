import { linearRegression, type Point } from './regression.ts'

export type Measure =
  | 'heap after gc'
  | 'resident'
  | 'resources'
  | 'open files'
  | 'sockets'
  | 'rhea links'
  | 'redis memory'
  | 'redis clients'
  | 'store'

/** Values of one measure of one process over time. */
export interface Series {
  readonly process: string
  readonly measure: Measure
  /** x in hours. */
  readonly points: readonly Point[]
}

export interface SeriesVerdict {
  readonly process: string
  readonly measure: Measure
  /** In the unit of the measure. */
  readonly mean: number
  readonly perHour: number
  /** Twice the standard error. */
  readonly error: number
  readonly allowedPerHour: number
  readonly isFlat: boolean
}

interface Allowance {
  readonly unit: string
  readonly scale: number
  /** What may come in an hour, but never more than `inAll` in all of the run. */
  readonly perHour: number
  readonly inAll: number
  /** What may come in all of a run, however short: code that is compiled once, and between which two moments one looks. */
  readonly swing: number
}

const MEBIBYTES = { unit: 'MiB', scale: 2 ** 20 } as const
/** Timers and sockets go with the leases that a host has, which are a few more or fewer at any moment. */
const PIECES = { unit: '', scale: 1, swing: 3 } as const

const ALLOWED: Readonly<Record<Measure, Allowance>> = {
  'heap after gc': { ...MEBIBYTES, perHour: 6, inAll: 24, swing: 1 },
  resident: { ...MEBIBYTES, perHour: 30, inAll: 64, swing: 6 },
  resources: { ...PIECES, perHour: 6, inAll: 12 },
  'open files': { ...PIECES, perHour: 6, inAll: 12 },
  sockets: { ...PIECES, perHour: 6, inAll: 12 },
  'rhea links': { ...PIECES, perHour: 6, inAll: 12 },
  'redis memory': { ...MEBIBYTES, perHour: 2, inAll: 8, swing: 0.5 },
  'redis clients': { ...PIECES, perHour: 6, inAll: 12 },
  store: { ...MEBIBYTES, perHour: 30, inAll: 64, swing: 4 },
}

export const CRITERION =
  'flat = the slope, less twice its standard error, is at most what is allowed an hour'

export function judgeSeries({ process, measure, points }: Series): SeriesVerdict {
  const { scale, perHour, inAll, swing } = ALLOWED[measure]
  const hours = Math.max((points.at(-1)?.x ?? 0) - (points[0]?.x ?? 0), 1 / 60)
  const { slope, slopeError, mean } = linearRegression(points)
  const [slopePerHour, error] = [slope / scale, (2 * slopeError) / scale]
  const allowedPerHour = Math.max(Math.min(perHour, inAll / hours), swing / hours)
  return {
    process,
    measure,
    mean: mean / scale,
    perHour: slopePerHour,
    error,
    allowedPerHour,
    isFlat: slopePerHour - error <= allowedPerHour,
  }
}

export function lineOf(verdict: SeriesVerdict): string {
  const { process, measure, mean, perHour, error, allowedPerHour, isFlat } = verdict
  const { unit } = ALLOWED[measure]
  const number = (value: number): string => value.toFixed(2).padStart(8)
  return [
    process.padEnd(9),
    measure.padEnd(14),
    `mean ${number(mean)} ${unit.padEnd(3)}`,
    `slope ${number(perHour)} ± ${error.toFixed(2).padEnd(6)} ${unit}/h`.padEnd(36),
    `allowed ${allowedPerHour.toFixed(1)}/h`.padEnd(16),
    isFlat ? 'flat' : 'NOT FLAT',
  ].join(' ')
}

import { murmur3x86 } from '@tidemark/contracts/internal'

/** Leases that are named: those that cost most. */
const MAX_NAMED = 32
/** What is told beyond this, ms a second, counts as this much: a thousand calls at a time. */
const MAX_COST = 1_000_000

/** What a host has told of its leases. */
export interface ToldLoads {
  /** What the leases cost that are not named, on the average; undefined if nothing is known of them. */
  readonly restCost: number | undefined
  /** By `loadKey`. */
  readonly named: ReadonlyMap<string, number>
}

/**
 * What leases cost, ms of work a second, as the text of a profile: the mean of the lightest, then the heaviest ones by name.
 * At most 32 of these, so below 600 characters, whatever the number of leases.
 */
export function loadText(costs: ReadonlyMap<string, number>): string {
  const sorted = [...costs].sort(([a, costA], [b, costB]) => costB - costA || (a < b ? -1 : 1))
  const rest = sorted.slice(MAX_NAMED)
  const named = sorted.slice(0, MAX_NAMED).map(([id, cost]) => `${loadKey(id)}=${rounded(cost)}`)
  const mean = rest.reduce((sum, [, cost]) => sum + cost, 0) / rest.length
  return [rest.length === 0 ? '-' : rounded(mean), ...named].join(' ')
}

/** What is no text of `loadText` tells nothing. */
export function parseLoads(text: string): ToldLoads {
  const [rest, ...entries] = text.split(' ')
  const named = entries.flatMap((entry): [string, number][] => {
    const [key = '', value] = entry.split('=')
    const cost = costOf(value)
    return cost === undefined ? [] : [[key, cost]]
  })
  return { restCost: costOf(rest), named: new Map(named) }
}

/** Two leases of a host that share one count as equally heavy, which harms nothing. */
export function loadKey(leaseId: string): string {
  return murmur3x86(new TextEncoder().encode(leaseId)).toString(36)
}

function costOf(text: string | undefined): number | undefined {
  const cost = text === undefined || text === '' ? NaN : Number(text)
  return Number.isFinite(cost) && cost >= 0 ? Math.min(cost, MAX_COST) : undefined
}

function rounded(cost: number): string {
  return String(Number(cost.toPrecision(3)))
}

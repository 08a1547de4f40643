import { InvalidOptionError, type Clock, type Random } from '@tidemark/contracts'
import {
  option,
  optionGroup,
  type OptionRule,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { DatabaseEngine, StorageEngine } from '../engine/storage-engine.ts'
import type { StoreEventEmitter } from '../events/store-event-emitter.ts'

/** How a store does its background work: sweep, purge, trimming, folding, splits by size. */
export interface MaintenanceOptions {
  /**
   * How often to look for work, in ms; earlier when something is known to be due.
   * @range 1 to 2_147_483_647 @default 1000
   */
  readonly intervalMs?: number | undefined
  /**
   * How long the lease for a database's background work lasts, in ms. A process that dies delays the work by at most
   * this time.
   * @range 1 to 2_147_483_647 @default 10_000
   */
  readonly leaseMs?: number | undefined
  /** Maximum number of documents or rows of one piece, which is one transaction. @range 1 to 1_000_000 @default 1000 */
  readonly maxItems?: number | undefined
  /**
   * Target duration of a piece, in ms. The store chooses the piece size for it, from 100 items up.
   * @range 1 to 2_147_483_647 @default 8
   */
  readonly pieceMs?: number | undefined
  /**
   * Shortest pause between two pieces, in ms. A pause also lasts at least as long as the piece took (TTL-5), up to 100
   * ms.
   * @range 0 to 2_147_483_647 @default 2
   */
  readonly pauseMs?: number | undefined
  /**
   * How often to check the ranges of collections with `splitAboveBytes`, in ms.
   * @range 1 to 2_147_483_647 @default 30_000
   */
  readonly splitCheckMs?: number | undefined
}

/**
 * `manual`: only `store.runMaintenance()` does the work. For tests, and for processes that leave the work to others.
 */
export type MaintenanceMode = MaintenanceOptions | 'manual'

const maintenanceRules: OptionRules<MaintenanceOptions> = {
  intervalMs: option.number,
  leaseMs: option.number,
  maxItems: option.number,
  pieceMs: option.number,
  pauseMs: option.number,
  splitCheckMs: option.number,
}

const group = optionGroup(maintenanceRules)

/** Of the option `maintenance`. */
export const maintenanceRule: OptionRule = {
  ...group,
  expected: '"manual" or options',
  accepts: (value) => value === 'manual' || group.accepts(value),
}

export interface ResolvedMaintenanceOptions {
  readonly mode: 'automatic' | 'manual'
  readonly intervalMs: number
  readonly leaseMs: number
  readonly maxItems: number
  readonly pieceMs: number
  readonly pauseMs: number
  readonly splitCheckMs: number
}

/** What the background work of a store needs. */
export interface StoreMaintenanceOptions {
  readonly engine: StorageEngine
  readonly clock: Clock
  readonly random: Random
  readonly events: StoreEventEmitter
  readonly options: ResolvedMaintenanceOptions
}

/** What the background work of one database needs. */
export interface DatabaseMaintenanceOptions {
  readonly databaseId: string
  readonly engine: DatabaseEngine
  readonly holder: string
  readonly clock: Clock
  readonly events: Pick<StoreEventEmitter, 'emit'>
  readonly options: ResolvedMaintenanceOptions
}

/** The longest delay that timers take. */
const MAX_MS = 2 ** 31 - 1
const MAX_ITEMS = 1_000_000

/** @throws ERR_INVALID_OPTION naming the option and its value */
export function resolveMaintenanceOptions(
  maintenance: MaintenanceMode = {},
): ResolvedMaintenanceOptions {
  const options = maintenance === 'manual' ? {} : maintenance
  const { intervalMs = 1000, leaseMs = 10_000, maxItems = 1000 } = options
  const { pieceMs = 8, pauseMs = 2, splitCheckMs = 30_000 } = options
  assertWithin('intervalMs', intervalMs, [1, MAX_MS])
  assertWithin('leaseMs', leaseMs, [1, MAX_MS])
  assertWithin('maxItems', maxItems, [1, MAX_ITEMS])
  assertWithin('pieceMs', pieceMs, [1, MAX_MS])
  assertWithin('pauseMs', pauseMs, [0, MAX_MS])
  assertWithin('splitCheckMs', splitCheckMs, [1, MAX_MS])
  const mode = maintenance === 'manual' ? 'manual' : 'automatic'
  return { mode, intervalMs, leaseMs, maxItems, pieceMs, pauseMs, splitCheckMs }
}

function assertWithin(name: string, value: number, [least, most]: readonly [number, number]): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return
  throw new InvalidOptionError(
    `maintenance.${name} must be a whole number from ${least} to ${most}, got ${String(value)}`,
  )
}

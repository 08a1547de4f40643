import {
  FULL_RANGE,
  commonKeys,
  lsn,
  rangesOverlap,
  type FeedRange,
  type GroupPosition,
  type GroupPositions,
  type Lease,
  type Lsn,
} from '@tidemark/contracts'
import { murmur3x64 } from '@tidemark/contracts/internal'
import { keysNotIn } from '../lease-stores/keys-not-in.ts'
import { discardGroup, epochsGroup } from './mirror-groups.ts'

export interface LeaseMirrorOptions {
  readonly positions: GroupPositions
  readonly group: string
  /**
   * Told of a mirror that cannot be written, which is no reason then not to start. Without it, it is: what is
   * not mirrored cannot be created again. Must not throw.
   */
  readonly onFailure?: ((failure: MirrorFailure) => void) | undefined
}

export interface MirrorFailure {
  readonly error: unknown
  readonly positions: number
}

export interface CoverOptions {
  /** What the mirror was found to hold before the leases were read. */
  readonly told: readonly GroupPosition[]
  /** The leases begin where they begin: positions of whatever was before them are overwritten. */
  readonly areNew: boolean
  /** The token with which leases were discarded for these. */
  readonly discardToken: string | undefined
  /** Resolves when the leases are on disk as they were read. */
  readonly flush: () => Promise<void>
}

/**
 * The highest epoch that an owner of some of these keys had; 0 if none is known. Leases that are created again
 * come with it, so that their owners are above all before them also where the new store's clock is behind:
 * a sink that has seen a higher epoch would refuse them, and take a stale worker's writes.
 */
export type LastEpochs = (range: FeedRange) => number

/**
 * The positions that a group has beside its feed, as what its leases are made from once the lease store has
 * lost them. Hosts tell each stored position there (`PositionReporter`); this is the part of it that has to be
 * done before anybody owns a lease.
 */
export class LeaseMirror {
  readonly #positions: GroupPositions
  readonly #group: string
  readonly #onFailure: LeaseMirrorOptions['onFailure']

  constructor({ positions, group, onFailure }: LeaseMirrorOptions) {
    this.#positions = positions
    this.#group = group
    this.#onFailure = onFailure
  }

  read(): Promise<readonly GroupPosition[]> {
    return this.#positions.read(this.#group)
  }

  /** The highest epochs that owners had, as far as they were told. */
  async readEpochs(): Promise<LastEpochs> {
    const told = await this.#positions.read(epochsGroup(this.#group))
    return (range) =>
      told.reduce((max, one) => (rangesOverlap(one.range, range) ? Math.max(max, one.lsn) : max), 0)
  }

  report(positions: readonly GroupPosition[]): Promise<void> {
    return this.#positions.report(positions)
  }

  /**
   * Whether this token was the last one that leases of the group were discarded with. The lease store knows
   * it too, as long as it keeps its data; a token that came again after a loss would discard what was
   * recovered.
   */
  async knowsDiscard(token: string): Promise<boolean> {
    const [mark] = await this.#positions.read(discardGroup(this.#group))
    return mark?.lsn === tokenNumber(token)
  }

  /**
   * Sees to it that the mirror has a position for each key of the leases, none above what is stored, and
   * knows of the discard. A position that was told is stored; so one above was told of leases that are no
   * more, and making leases from it would skip changes.
   */
  async cover(
    leases: readonly Lease[],
    { told, areNew, discardToken, flush }: CoverOptions,
  ): Promise<void> {
    const due = leases
      .filter((lease) => !isCovered(lease, told, areNew))
      .map(({ range, checkpoint }) => this.#position(range, checkpoint.lsn))
    const mark = discardToken !== undefined && !(await this.knowsDiscard(discardToken))
    const marks = mark ? [this.#discardMark(discardToken)] : []
    const all = [...due, ...marks]
    if (all.length === 0) return
    try {
      await flush()
      await this.#positions.report(all)
    } catch (error) {
      if (this.#onFailure === undefined) throw error
      this.#onFailure({ error, positions: all.length })
    }
  }

  #position({ minInclusive, maxExclusive }: FeedRange, at: Lsn): GroupPosition {
    return { group: this.#group, range: { minInclusive, maxExclusive }, lsn: at }
  }

  #discardMark(token: string): GroupPosition {
    return { group: discardGroup(this.#group), range: FULL_RANGE, lsn: tokenNumber(token) }
  }
}

function isCovered(lease: Lease, told: readonly GroupPosition[], areNew: boolean): boolean {
  const own = told.filter(({ range }) => commonKeys(range, lease.range) !== undefined)
  const stored = lease.checkpoint.lsn
  if (own.some((position) => position.lsn > stored || (areNew && position.lsn !== stored))) {
    return false
  }
  return (
    keysNotIn(
      [lease.range],
      own.map(({ range }) => range),
    ).length === 0
  )
}

/** 53 bits of a token, so that it fits where an LSN does. */
function tokenNumber(token: string): Lsn {
  const [high = 0, low = 0] = murmur3x64(new TextEncoder().encode(token))
  return lsn((high & 0x1fffff) * 2 ** 32 + low)
}

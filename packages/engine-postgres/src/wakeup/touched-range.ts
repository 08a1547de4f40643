/** A pkrange that a commit advanced. */
export interface TouchedRange {
  /** Number of the collection. */
  readonly collection: number
  /** Number of the pkrange in it. */
  readonly range: number
  readonly lsn: number
}

/** What a commit may matter to: pkranges, and entities by number. */
export type Touched =
  | {
      readonly ranges: readonly TouchedRange[]
      readonly entities: readonly number[]
    }
  | 'anything'

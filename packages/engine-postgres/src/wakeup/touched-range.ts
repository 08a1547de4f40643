/** A pkrange that a commit moved on. */
export interface TouchedRange {
  /** Number of the collection. */
  readonly collection: number
  /** Number of the pkrange in it. */
  readonly range: number
  readonly lsn: number
}

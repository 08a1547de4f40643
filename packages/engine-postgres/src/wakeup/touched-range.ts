/** A pkrange that a commit advanced. */
export interface TouchedRange {
  /** Number of the collection. */
  readonly collection: number
  /** Number of the pkrange in it. */
  readonly range: number
  readonly lsn: number
}

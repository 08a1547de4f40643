/** A pkrange that a commit moved on. */
export interface TouchedRange {
  readonly collection: number
  readonly range: number
  readonly lsn: number
  /** The segment that it stands in, if known. */
  readonly segment?: number | undefined
}

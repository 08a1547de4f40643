/** A pkrange that a commit advanced. */
export interface TouchedRange {
  /** Number of the collection. */
  readonly collection: number
  /** Number of the pkrange in it. */
  readonly range: number
  readonly lsn: number
}

/** An entity with messages, where a commit changed something for listeners. */
export interface TouchedEntity {
  /** Its number. */
  readonly entity: number
  /** The lowest number of a message that can be taken again, or was moved here. */
  readonly returned: number | undefined
}

/** What a commit may matter to. */
export type Touched =
  | {
      readonly ranges: readonly TouchedRange[]
      readonly entities: readonly TouchedEntity[]
    }
  | 'anything'

import type { CollectionRow } from '../../connection/catalog-rows.ts'
import type { Connection } from '../../connection/connection.ts'
import type { OpenSegments } from '../open-segments.ts'
import type { TouchedRange } from '../writer-messages.ts'

/** The context of a piece of background work, inside the writer's transaction. */
export interface PieceContext {
  readonly connection: Connection
  readonly segments: OpenSegments
  /** The store's clock, epoch ms. */
  readonly timeMs: number
  readonly maxItems: number
  /** The present record of the collection, with room for a row of that key in its range's segment. */
  collectionFor(epk: string): CollectionRow
  /** True when this piece has taken so long that requests must have their turn. */
  isOverdue(): boolean
}

export interface PieceResult {
  readonly items: number
  /** True when another piece would find more at once. */
  readonly more: boolean
  readonly touched?: readonly TouchedRange[]
}

export const NOTHING_TO_DO: PieceResult = { items: 0, more: false }

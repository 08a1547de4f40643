import type { DocumentBody } from '@tidemark/contracts'

/** Collection of a database in which its views are listed, by name. */
export const VIEWS_COLLECTION = 'tidemark-views'

/** What stands behind the name of a view. To change it is one commit. */
export interface ViewRecord extends DocumentBody {
  /** What readers get. */
  readonly current: ViewEdition
  /** Built from the beginning beside it, to become the current one. */
  readonly building?: ViewEdition | undefined
  /** Former ones whose collections are still there. */
  readonly replaced: readonly ViewEdition[]
  /** Versions that have been replaced by another one: only a rebuild brings them back. */
  readonly formerVersions: readonly string[]
  /** Number of its first edition. Workers of an earlier one belong to a view of this name that was dropped. */
  readonly first: number
  /** The highest number that an edition has had. */
  readonly newest: number
}

/** What stays of a view that was dropped, so that its numbers are not used again: workers of it may still run. */
export interface DroppedView extends DocumentBody {
  readonly newest: number
}

/** One building of a view, with collections and lease groups of its own. */
export interface ViewEdition {
  /** Rises, and is never used again, not even when the view was dropped. */
  readonly number: number
  /** As the workers that keep it give it. */
  readonly version: string
  /** Identity of the source. */
  readonly source: string
  /** Names and kinds of its folds. */
  readonly folds: string
}

export function viewCollectionId(name: string, { number }: Pick<ViewEdition, 'number'>): string {
  return `view-${name}-${number}`
}

export function stateCollectionId(name: string, edition: Pick<ViewEdition, 'number'>): string {
  return `${viewCollectionId(name, edition)}-state`
}

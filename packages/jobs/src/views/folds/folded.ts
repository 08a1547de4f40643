import type { DocumentBody, Stored } from '@tidemark/contracts'

/** What one document is to one fold. */
export interface FoldPart {
  /** Kept with the document's contribution, to take it away later. Of indexed folds, the id in the index. */
  readonly kept: unknown
  /** What is added; in the index, what is stored. */
  readonly added: unknown
}

export interface PartChanges {
  /** As kept. */
  readonly removed: readonly unknown[]
  readonly added: readonly FoldPart[]
}

/** A fold of a view, as the writer works with it. States are JSON, and kept in the view's documents. */
export interface FoldedProperty<T extends DocumentBody> {
  /** Of the property in the view's documents. */
  readonly name: string
  readonly kind: string
  /** Parts are also kept by key, in the order of their ids. */
  readonly isIndexed: boolean
  /** @param tie text that tells documents apart, and orders equals */
  part(document: Stored<T>, tie: string): FoldPart | undefined
  readonly empty: unknown
  /** `isWhole`: it can be told from the state. Else it has to be made of the index. */
  change(
    state: unknown,
    changes: PartChanges,
  ): { readonly state: unknown; readonly isWhole: boolean }
  /** @param parts all of the key after the change, in the order of their ids */
  remake(changed: unknown, parts: AsyncIterable<FoldPart>): Promise<unknown>
  value(state: unknown): unknown
}

import type { Change, DocumentBody } from '@tidemark/contracts'
import { changeKey, keyText, type DocumentKey } from '../migration/document-key.ts'
import type { FoldedProperty, FoldPart } from './folds/folded.ts'
import { contributionKey, type StateKey } from './state-documents.ts'
import { viewKeys, type ViewKey } from './view-key.ts'

/** What a view is: its keys and folds. */
export interface ViewDefinition<T extends DocumentBody> {
  readonly by: (
    document: Extract<Change<T>, { kind: 'document' }>['document'],
  ) => ViewKey | readonly ViewKey[] | null | undefined
  readonly folds: readonly FoldedProperty<T>[]
}

/** A document as a change has it, and what it counts for from then on. */
export interface Incoming {
  /** Of its contribution. The id tells documents apart, and orders equals. */
  readonly at: StateKey
  readonly source: DocumentKey
  readonly lsn: number
  /** Without keys it is not in the view. */
  readonly keys: readonly (readonly [ViewKey, readonly (FoldPart | undefined)[]])[]
}

/**
 * The last change of each document in a page. A document is identified by partition key value and id, and its changes come in
 * the order of their LSNs.
 *
 * @throws ERR_VIEW_VALUE
 */
export function incomingChanges<T extends DocumentBody>(
  changes: readonly Change<T>[],
  view: ViewDefinition<T>,
): readonly Incoming[] {
  const last = new Map<string, { readonly source: DocumentKey; readonly change: Change<T> }>()
  for (const change of changes) {
    // The rest of the log comes in the feed of documents.
    if (change.kind === 'version' && change.operationType !== 'delete') continue
    const paths = Array.isArray(change.partitionKey) ? change.partitionKey.length : 1
    const source = changeKey(change, paths)
    last.set(keyText(source), { source, change })
  }
  return Array.from(last.values(), ({ source, change }) => {
    const at = contributionKey(source)
    const keys = change.kind === 'document' ? contributionOf(change.document, at.id, view) : []
    return { at, source, lsn: change.lsn, keys }
  })
}

/** What a document counts for. */
export function contributionOf<T extends DocumentBody>(
  document: Extract<Change<T>, { kind: 'document' }>['document'],
  tie: string,
  { by, folds }: ViewDefinition<T>,
): Incoming['keys'] {
  const keys = viewKeys(by(document))
  if (keys === undefined) return []
  const parts = folds.map((fold) => fold.part(document, tie))
  return keys.map((key) => [key, parts])
}

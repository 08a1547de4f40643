import type { ChangeFeedSource, DocumentBody, RequestOptions } from '@tidemark/contracts'
import { option, optionRule, type OptionRule } from '@tidemark/contracts/internal'

/** A view as the source of another one, such as `openView` returns. */
export interface SourceView<T extends DocumentBody> {
  readonly name: string
  /** What readers get now. */
  collection(options?: RequestOptions): Promise<ChangeFeedSource<T>>
}

/** A feed; or a view, of which the edition that readers get is read. */
export type ViewSource<T extends DocumentBody> = ChangeFeedSource<T> | SourceView<T>

export const viewSourceRule: OptionRule = optionRule(
  `${option.feed.expected}, or a view of openView`,
  (value) => option.feed.accepts(value) || isView(value),
)

function isView(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'collection' in value && 'name' in value
}

function isFeed<T extends DocumentBody>(source: ViewSource<T>): source is ChangeFeedSource<T> {
  return 'readFeedRanges' in source
}

/** The feed to read now. Rejects with ERR_NOT_FOUND while there is no such view. */
export async function feedOfSource<T extends DocumentBody>(
  source: ViewSource<T>,
  options: RequestOptions = {},
): Promise<ChangeFeedSource<T>> {
  if (isFeed(source)) return source
  const collection = await source.collection(options)
  // Its identity has its `_rid` from its first read on.
  await collection.readFeedRanges(options)
  return collection
}

import { errorCode, type Change, type DocumentBody } from '@tidemark/contracts'
import type { ChangesPage, Collection, CollectionOptions, Store } from '@tidemark/store'

/** One store, opened for one test on storage of its own. */
export interface StoreUnderTest {
  readonly store: Store
  /** Closes the store and removes the data. */
  dispose(): Promise<void>
}

export interface CollectionConformance {
  readonly name: string
  open(): Promise<StoreUnderTest>
}

/** What tests write: a partition key and whatever they like. */
export interface TestDocument extends DocumentBody {
  readonly pk?: unknown
  readonly [property: string]: unknown
}

export type TestCollection = Collection<TestDocument>

export function makeCollection(
  store: Store,
  options: Partial<CollectionOptions> = {},
): Promise<TestCollection> {
  return store
    .database('db')
    .createCollectionIfNotExists<TestDocument>({ id: 'coll', partitionKey: '/pk', ...options })
}

/** The ids of a page's or a list's changes. */
export function idsOf(changes: readonly Change<TestDocument>[]): readonly string[] {
  return changes.map(({ id }) => id)
}

/** All pages of an iteration that ends by itself. */
export async function allPages(
  iteration: AsyncIterable<ChangesPage<TestDocument>>,
): Promise<readonly ChangesPage<TestDocument>[]> {
  const pages: ChangesPage<TestDocument>[] = []
  for await (const page of iteration) pages.push(page)
  return pages
}

/** Code of what a promise rejects with; `none` if it does not. */
export async function rejection(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
  } catch (error) {
    return errorCode(error) ?? String(error)
  }
  return 'none'
}

/** Code of what a call throws at once; `none` if it does not. */
export function thrown(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    return errorCode(error) ?? String(error)
  }
  return 'none'
}

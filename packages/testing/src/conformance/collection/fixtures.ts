import { errorCode, type Change, type Clock, type DocumentBody } from '@tidemark/contracts'
import type {
  ChangesOptions,
  ChangesPage,
  Collection,
  CollectionOptions,
  Store,
} from '@tidemark/store'
import { SteppedClock } from '../../stepped-clock.ts'

/** One store, opened for one test on storage of its own. */
export interface StoreUnderTest {
  readonly store: Store
  /** Closes the store and removes the data. */
  dispose(): Promise<void>
}

export interface CollectionConformance {
  readonly name: string
  /**
   * Opens a store on storage of its own. `clock` must be its engine's: tests of expiry step it.
   * `maintenance` is for `Store.open`: tests say when background work is done.
   */
  open(options: { readonly clock: Clock; readonly maintenance: 'manual' }): Promise<StoreUnderTest>
}

/** Opens a store for one test, under a clock of the test's own if it steps it. */
export type OpenStore = (clock?: SteppedClock) => Promise<Store>

/** Within its second, so that rounding shows. */
export const START_MS = 1_767_225_600_250
export const START_SECOND = 1_767_225_600

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

/** A collection with a time to live, under a clock that the test steps. */
export async function makeTimed(
  open: OpenStore,
  options: Partial<CollectionOptions> = {},
): Promise<{ store: Store; clock: SteppedClock; collection: TestCollection }> {
  const clock = new SteppedClock(START_MS)
  const store = await open(clock)
  const collection = await makeCollection(store, { defaultTtl: -1, ...options })
  return { store, clock, collection }
}

/** All changes from the beginning to now, or as the options say. */
export async function changesOf(
  collection: TestCollection,
  options: ChangesOptions<TestDocument> = {},
): Promise<readonly Change<TestDocument>[]> {
  const pages = await allPages(collection.changes({ from: 'beginning', follow: false, ...options }))
  return pages.flatMap(({ changes }) => changes)
}

/** Kind and id of each: `document a`, `pendingDelete b`, `delete c`. */
export function summary(changes: readonly Change<TestDocument>[]): readonly string[] {
  return changes.map((change) =>
    change.kind === 'version'
      ? `${change.operationType} ${change.id}`
      : `${change.kind} ${change.id}`,
  )
}

/** Ids of all current documents, sorted. */
export async function liveIds(collection: TestCollection): Promise<readonly string[]> {
  const ids: string[] = []
  let continuation: string | undefined
  do {
    const page = await collection.readDocuments({ continuation })
    ids.push(...page.documents.map(({ id }) => id))
    continuation = page.continuation
  } while (continuation !== undefined)
  return ids.toSorted()
}

/** Where a reader of all of the collection stands after what is there now. */
export async function continuationNow(
  collection: TestCollection,
  options: ChangesOptions<TestDocument> = {},
): Promise<string> {
  const pages = await allPages(collection.changes({ from: 'now', follow: false, ...options }))
  return pages.at(-1)?.continuation ?? ''
}

import {
  ResourceNotFoundError,
  errorCode,
  type DocumentBody,
  type RequestOptions,
} from '@tidemark/contracts'
import { SYSTEM_PROPERTIES } from '@tidemark/contracts/internal'
import type { Collection, Database } from '@tidemark/store'
import type { AnyFold, FoldValue } from './folds/fold.ts'
import { viewDocumentKey, type ViewDocument } from './state-documents.ts'
import type { ViewKey } from './view-key.ts'
import { checkedViewName } from './view-options.ts'
import { viewCollectionId } from './view-record.ts'
import { ViewRecords } from './view-records.ts'

/** The values of a view's key, by the names of its folds; of a single fold: `value`. Absent where a fold has none. */
export type ViewValues<F> =
  F extends AnyFold<never>
    ? { readonly value?: FoldValue<F> }
    : { readonly [Name in keyof F]?: FoldValue<F[Name]> }

/** One key of a view with its values. */
export type ViewEntry<Values extends object = Readonly<Record<string, unknown>>> = Values & {
  readonly key: ViewKey
  /** Documents of the source with this key: at least one. */
  readonly documents: number
}

/** A view by its name. Each call reads whatever edition stands behind the name at that moment. */
export interface View<Values extends object = Readonly<Record<string, unknown>>> {
  readonly name: string
  /** Undefined where no document of the source has this key. Rejects with ERR_NOT_FOUND while there is no such view. */
  read(key: ViewKey, options?: RequestOptions): Promise<ViewEntry<Values> | undefined>
  /** All keys, in no order, of the edition that there is at the first. Rejects as `read`, and when that is dropped meanwhile. */
  entries(options?: RequestOptions): AsyncGenerator<ViewEntry<Values>, void, undefined>
  /** Number of keys. */
  count(options?: RequestOptions): Promise<number>
  /**
   * The collection behind the name now: for queries, or to read the feed of the view. It stays the same when another
   * takes its place.
   */
  collection(options?: RequestOptions): Promise<Collection<DocumentBody & Values>>
}

/**
 * Opens a view that `materializeView` keeps, to read it. Reads nothing yet.
 *
 * @throws ERR_INVALID_OPTION for a name that no view can have
 */
export function openView<Values extends object = Readonly<Record<string, unknown>>>(
  database: Database,
  name: string,
): View<Values> {
  return new NamedView<Values>(database, checkedViewName(name))
}

class NamedView<Values extends object> implements View<Values> {
  readonly name: string
  readonly #database: Database
  readonly #records: ViewRecords
  /** A collection is found once. */
  #known: Collection<ViewDocument> | undefined

  constructor(database: Database, name: string) {
    this.name = name
    this.#database = database
    this.#records = new ViewRecords(database)
  }

  read(key: ViewKey, options: RequestOptions = {}): Promise<ViewEntry<Values> | undefined> {
    return this.#reading(options, async (collection) => {
      const { document } = await collection.read(viewDocumentKey(key).id, key, options)
      return document && viewEntry<Values>(document)
    })
  }

  async *entries(options: RequestOptions = {}): AsyncGenerator<ViewEntry<Values>, void, undefined> {
    const collection = await this.#current(options)
    let continuation: string | undefined
    do {
      const page = await collection.readDocuments({ ...options, continuation })
      for (const document of page.documents) yield viewEntry<Values>(document)
      continuation = page.continuation
    } while (continuation !== undefined)
  }

  count(options: RequestOptions = {}): Promise<number> {
    return this.#reading(options, (collection) => collection.count(options))
  }

  async collection(options: RequestOptions = {}): Promise<Collection<DocumentBody & Values>> {
    const { id } = await this.#current(options)
    return this.#database.collection(id)
  }

  /** Between two reads the edition may have been replaced and dropped. */
  async #reading<Result>(
    options: RequestOptions,
    read: (collection: Collection<ViewDocument>) => Promise<Result>,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      const collection = await this.#current(options)
      try {
        return await read(collection)
      } catch (error) {
        if (errorCode(error) !== 'ERR_NOT_FOUND' || attempt >= MAX_ATTEMPTS) throw error
        this.#known = undefined
      }
    }
  }

  async #current(options: RequestOptions): Promise<Collection<ViewDocument>> {
    const record = await this.#records.read(this.name, options)
    if (record === undefined) throw new ResourceNotFoundError('view', this.name)
    const id = viewCollectionId(this.name, record.current)
    if (this.#known?.id !== id) this.#known = this.#database.collection(id)
    return this.#known
  }
}

const MAX_ATTEMPTS = 3

/** What readers get of a view's document. */
export function viewEntry<Values extends object>(document: ViewDocument): ViewEntry<Values> {
  const { key, _fold } = document
  const values: Record<string, unknown> = { ...document }
  for (const name of [...SYSTEM_PROPERTIES, '_fold', 'id']) delete values[name]
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the folds of the view have made the values
  return { ...(values as Values), key, documents: _fold.count }
}

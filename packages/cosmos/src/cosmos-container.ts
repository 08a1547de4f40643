import type { JsonRecord } from '@tidemark/contracts/internal'

/** Headers of an answer, by their names in lower case. */
export type AnswerHeaders = Readonly<Record<string, unknown>>

/** What the client answers for one item. */
export interface ItemAnswer {
  readonly resource?: unknown
  readonly statusCode: number
  readonly substatus?: number | undefined
  readonly headers: AnswerHeaders
}

/** An iterator of the client over a list. Its pages have headers, which their declaration hides. */
export interface PagedAnswers {
  hasMoreResults(): boolean
  fetchNext(): Promise<{ readonly resources: readonly unknown[] }>
  fetchAll(): Promise<{ readonly resources: readonly unknown[] }>
}

/** One page of the client's feed iterator. */
export interface IteratorPage {
  readonly result: unknown
  readonly statusCode: number
  readonly subStatusCode?: number | undefined
  readonly headers: AnswerHeaders
  readonly continuationToken?: string | undefined
}

export interface FeedIterator {
  readNext(): Promise<IteratorPage>
}

/**
 * What is used of a `Container` of `@azure/cosmos`. A shape instead of its class: the client has one set of declarations for
 * `import` and one for `require`, whose classes TypeScript takes for different ones.
 */
export interface CosmosContainer {
  readonly id: string
  /** `dbs/shop/colls/orders`. */
  readonly url: string
  readonly database: {
    readonly id: string
    readonly client: {
      readonly databases: {
        createIfNotExists(body: { id: string }, options?: object): Promise<unknown>
      }
    }
    readonly containers: {
      createIfNotExists(
        body: { id: string; partitionKey: { paths: string[]; version: 2 } },
        options?: object,
      ): Promise<unknown>
    }
  }
  readonly items: {
    create(body: object, options?: object): Promise<ItemAnswer>
    upsert(body: object, options?: object): Promise<ItemAnswer>
    batch(operations: readonly object[], partitionKey: unknown, options?: object): Promise<object>
    readAll(options?: object): PagedAnswers
    query(
      query: { query: string; parameters: { name: string; value: string }[] },
      options?: object,
    ): PagedAnswers
    getChangeFeedIterator(options?: object): FeedIterator
  }
  item(
    id: string,
    partitionKey: unknown,
  ): {
    read(options?: object): Promise<ItemAnswer>
    replace(body: object, options?: object): Promise<ItemAnswer>
    patch(operations: object, options?: object): Promise<ItemAnswer>
    delete(options?: object): Promise<ItemAnswer>
  }
  read(options?: object): Promise<{
    readonly resource?: object | undefined
    readonly headers: AnswerHeaders
  }>
  readPartitionKeyRanges(options?: object): PagedAnswers
  getFeedRanges(): Promise<
    readonly { readonly minInclusive: string; readonly maxExclusive: string }[]
  >
}

/** A header of an answer; undefined when it is missing or empty. */
export function headerOf(headers: AnswerHeaders | undefined, name: string): string | undefined {
  const value = headers?.[name]
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** An object of the client, of which less is declared than it has. */
export function recordOf(resource: object | undefined): JsonRecord {
  return { ...resource }
}

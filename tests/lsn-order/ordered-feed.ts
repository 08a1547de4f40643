/** A row as it is written: what names it, and which of its versions this is. */
export interface WrittenRow {
  /** Rows of one group are written together. */
  readonly group: string
  readonly id: string
  readonly version: number
}

/** A row as a reader or a scan gets it. */
export interface SeenRow {
  readonly key: string
  readonly version: number
  readonly lsn: number
}

/** What a reader gets at once; LSNs of one range must ascend. */
export interface SeenPage {
  readonly range: string
  readonly rows: readonly SeenRow[]
}

/** Something that many write to and others follow: the store, or what it is compared with. */
export interface OrderedFeed extends AsyncDisposable {
  /** Writes rows of one group in one transaction. Resolves with its LSN when it is durable. */
  write(rows: readonly WrittenRow[]): Promise<number>
  reader(): FeedReader
  /** Every row's newest version, read by key and not through the feed. */
  scan(): Promise<readonly SeenRow[]>
}

/** Pages its way through a feed by continuations. */
export interface FeedReader {
  /**
   * Goes on after what it had last. Ends after `maxPages`, or at the end of the feed if that is not given; with
   * `maxPages` it waits for more at the end, until `signal` aborts.
   */
  read(options: {
    readonly maxItems: number
    readonly maxPages?: number | undefined
    readonly signal?: AbortSignal | undefined
  }): AsyncIterable<SeenPage>
}

export function rowKey({ group, id }: Pick<WrittenRow, 'group' | 'id'>): string {
  return `${group}/${id}`
}

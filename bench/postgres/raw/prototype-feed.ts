import { Client } from 'pg'
import { machineMs } from '../../measuring/stopwatch.ts'
import { PAGE } from './prototype-schema.ts'

/** Columns of a page as `pg` gives them: bigint as text. */
export type PrototypeRow = readonly [lsn: string, body: string]

/** Reads the prototype's feed on a connection of its own. */
export class PrototypeFeed implements AsyncDisposable {
  readonly client: Client
  readonly #segments: number

  private constructor(client: Client, segments: number) {
    this.client = client
    this.#segments = segments
  }

  static async open(url: string, segments: number): Promise<PrototypeFeed> {
    const client = new Client({ connectionString: url })
    await client.connect()
    return new PrototypeFeed(client, segments)
  }

  async page(segment: number, afterLsn: number, limit: number): Promise<readonly PrototypeRow[]> {
    const { rows } = await this.client.query<[string, string]>({
      ...PAGE,
      values: [segment, afterLsn, limit],
      rowMode: 'array',
    })
    return rows
  }

  /** Parsed documents per second, from the beginning to the end again and again. */
  async measure(
    { pageSize, documents }: { readonly pageSize: number; readonly documents: number },
    seconds: number,
  ): Promise<number> {
    const started = machineMs()
    let read = 0
    do {
      const scanned = await this.#scan(pageSize)
      if (scanned !== documents) throw new Error(`the prototype has ${scanned} of ${documents}`)
      read += scanned
    } while (machineMs() < started + seconds * 1000)
    return (read / (machineMs() - started)) * 1000
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.end()
  }

  async #scan(pageSize: number): Promise<number> {
    let parsed = 0
    for (let segment = 0; segment < this.#segments; segment++) {
      for (let afterLsn = 0; ;) {
        const rows = await this.page(segment, afterLsn, pageSize)
        for (const row of rows) parsed += JSON.parse(row[1]) === null ? 0 : 1
        const last = rows.at(-1)
        if (last === undefined) break
        afterLsn = Number(last[0])
      }
    }
    return parsed
  }
}

import { serveParent } from '../../measuring/child-process.ts'
import { machineMs } from '../../measuring/stopwatch.ts'
import { readFeedPage } from '../feed-pages.ts'
import { HttpCalls } from '../http-calls.ts'

export interface ReadHttpFeedRequest {
  readonly endpoint: string
  /** Ids of the pkranges, all followed at the same time. */
  readonly ranges: readonly string[]
  readonly seconds: number
  /** Whether documents are parsed, as a worker would, or only received. */
  readonly documents: 'parsed' | 'received'
}

export interface ReadHttpFeedReply {
  readonly perSecond: number
}

serveParent(async (task: ReadHttpFeedRequest): Promise<ReadHttpFeedReply> => {
  const { endpoint, ranges, seconds, documents } = task
  using calls = new HttpCalls(endpoint, { connections: ranges.length })
  const started = machineMs()
  const end = started + seconds * 1000
  let count = 0
  const follow = async (range: string): Promise<void> => {
    let etag: string | undefined
    while (machineMs() < end) {
      const { status, headers, body } = await readFeedPage(calls, { range, etag })
      // At the end of the feed it starts over.
      etag = status === 304 ? undefined : headers.etag
      if (status === 304) continue
      const announced = Number(headers['x-ms-item-count'])
      if (documents === 'parsed') {
        const page = JSON.parse(body.toString()) as { readonly Documents: readonly unknown[] }
        if (page.Documents.length !== announced) throw new Error('a page is not what it says')
      }
      count += announced
    }
  }
  await Promise.all(ranges.map((range) => follow(range)))
  return { perSecond: (count / (machineMs() - started)) * 1000 }
})

import { closeSync, openSync, writeSync } from 'node:fs'
import { generator } from '../crash/lane.ts'
import { endWithParent, tellLast } from './child-end.ts'
import { pageLines } from './logs.ts'
import { openFeed } from './open-feed.ts'
import type { OrderReaderMessage, OrderReaderTask } from './order-tasks.ts'
import type { FeedReader } from './ordered-feed.ts'

/*
 * Follows the feed from its beginning, and starts over from its continuation again and again. Told to stop, it reads
 * to the end. It handles no error whatever: one that a reader is told ends it, and the run fails.
 */

const MAX_PAGES = 40
/** For what small pages have left when the writing is over. */
const LAST_PAGE_SIZE = 500

endWithParent()
// The run is the only caller.
const task = JSON.parse(process.argv[2] ?? '') as OrderReaderTask
const log = openSync(task.log, 'a')
const chance = generator(task.seed)
const stopping = new AbortController()
let reopened = 0
{
  await using feed = await openFeed(task)
  const reader = feed.reader()
  process.once('message', () => stopping.abort())
  process.send?.({ kind: 'started' } satisfies OrderReaderMessage)
  while (!stopping.signal.aborted) {
    const maxItems = task.pageSizes[Math.floor(chance() * task.pageSizes.length)] ?? 1
    const maxPages = 1 + Math.floor(chance() * MAX_PAGES)
    await untilStopped(take(reader, { maxItems, maxPages, signal: stopping.signal }))
    reopened++
  }
  await take(reader, { maxItems: LAST_PAGE_SIZE })
}
closeSync(log)
await tellLast({ kind: 'caughtUp', reopened } satisfies OrderReaderMessage)

async function take(reader: FeedReader, options: Parameters<FeedReader['read']>[0]): Promise<void> {
  for await (const page of reader.read(options)) writeSync(log, pageLines(page))
}

/** Being told to stop is no error. */
async function untilStopped(reading: Promise<void>): Promise<void> {
  try {
    await reading
  } catch (error) {
    if (error !== stopping.signal.reason) throw error
  }
}

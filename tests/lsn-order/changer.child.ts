import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '@tidemark/contracts'
import { generator } from '../crash/lane.ts'
import { endWithParent, tellLast } from './child-end.ts'
import type { OrderChangerMessage, OrderChangerTask } from './order-tasks.ts'
import { TidemarkFeed } from './tidemark-feed.ts'

/* Splits and merges the range over and over, and does the store's background work. */

const MAX_RANGES = 4
const MIN_PAUSE_MS = 50
const MAX_PAUSE_MS = 400
/** While nothing is in a range yet, and what an unknown outcome leads to. */
const EXPECTED = ['ERR_RANGE_INDIVISIBLE', 'ERR_RANGE_GONE', 'ERR_NOT_FOUND']

endWithParent()
// The run is the only caller.
const task = JSON.parse(process.argv[2] ?? '') as OrderChangerTask
const chance = generator(task.seed)
const done = { splits: 0, merges: 0, folded: 0, unknownOutcomes: 0 }
let isStopping = false
{
  await using feed = await TidemarkFeed.open({ url: task.url, maintains: 'yes' })
  feed.store.events.on('folded', ({ rows }) => (done.folded += rows))
  process.once('message', () => {
    isStopping = true
  })
  process.send?.({ kind: 'started' } satisfies OrderChangerMessage)
  while (!isStopping) {
    await sleep(MIN_PAUSE_MS + chance() * (MAX_PAUSE_MS - MIN_PAUSE_MS))
    await change(feed)
  }
}
await tellLast({ kind: 'changed', ...done } satisfies OrderChangerMessage)

async function change({ documents }: TidemarkFeed): Promise<void> {
  const ranges = await documents.readFeedRanges()
  const index = Math.floor(chance() * (ranges.length - 1))
  const [range, next] = [ranges[index], ranges[index + 1]]
  const merges = next !== undefined && chance() < ranges.length / MAX_RANGES
  try {
    if (merges) await documents.merge(range?.id ?? '', next.id ?? '')
    else await documents.split(range?.id ?? '')
    done[merges ? 'merges' : 'splits']++
  } catch (error) {
    const code = errorCode(error) ?? ''
    if (code === 'ERR_STORE_UNAVAILABLE') done.unknownOutcomes++
    else if (!EXPECTED.includes(code)) throw error
  }
}

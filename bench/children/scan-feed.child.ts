import { serveParent } from '../measuring/child-process.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { openBenchStore } from '../store/open-bench-store.ts'
import { scanFeed } from '../store/read-feed.ts'

export interface ScanRequest {
  readonly folder: string
  readonly seconds: number
}

export interface ScanReply {
  readonly documents: number
}

serveParent(async ({ folder, seconds }: ScanRequest): Promise<ScanReply> => {
  await using store = await openBenchStore(folder)
  const end = machineMs() + seconds * 1000
  let documents = 0
  while (machineMs() < end) documents += await scanFeed(store, { pageSize: 1_000, until: end })
  return { documents }
})

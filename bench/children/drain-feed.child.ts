import { serveParent } from '../measuring/child-process.ts'
import { drainWithHost } from '../store/drain.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

export interface DrainRequest {
  readonly folder: string
  readonly documents: number
  readonly group: string
}

export interface DrainReply {
  readonly perSecond: number
  readonly rssMiB: number
}

serveParent(async ({ folder, documents, group }: DrainRequest): Promise<DrainReply> => {
  await using store = await openBenchStore(folder)
  const perSecond = await drainWithHost(store, documents, { group })
  return { perSecond, rssMiB: process.memoryUsage.rss() / 2 ** 20 }
})

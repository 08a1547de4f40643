import { serveParent } from '../../measuring/child-process.ts'
import { openBenchBroker, OwnQueue } from '../open-broker.ts'
import { RatesOfCalls, type Load } from '../queue-rates.ts'

export interface MemoryRequest {
  readonly place: string
  readonly queue: string
}

export interface MemoryReply {
  readonly rssMiB: number
}

const LOAD: Load = { callers: 16, batch: 1, seconds: 0.5 }

serveParent<MemoryRequest, MemoryReply>(async ({ place, queue }) => {
  await using opened = await openBenchBroker(place)
  await using rates = new RatesOfCalls(OwnQueue.open(opened.broker, queue))
  await rates.trips(LOAD)
  return { rssMiB: process.memoryUsage.rss() / 1024 / 1024 }
})

import { systemClock, systemRandom, type Clock, type Logger } from '@tidemark/contracts'
import {
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  type ChangeFeedProcessorHostOptions,
} from '@tidemark/processor'
import type { Collection, Store } from '@tidemark/store'
import { DEMO } from './demo-database.ts'

interface Visit {
  readonly id: string
  readonly page: string
  readonly visits: number
}

/** There are never more documents than that: later visits replace earlier ones. */
const DOCUMENTS = 240
const PAGES = 24
/** A few at a time, and many from time to time, so that there is lag to look at. */
const STEADY = { everyMs: 500, documents: 4 }
const BURST = { everyRounds: 24, documents: 120 }
const MS_PER_CHANGE = 100

/** Where a demo worker gets its changes, and keeps its leases. */
export type DemoSources = Pick<ChangeFeedProcessorHostOptions<Visit>, 'feed' | 'leases' | 'logger'>

/** A worker of the demo group: takes its time for each change, and does nothing with it. */
export function demoWorker(sources: DemoSources): ChangeFeedProcessorHost<Visit> {
  return new ChangeFeedProcessorHost<Visit>({
    ...sources,
    group: DEMO.group,
    hostName: `worker-${systemRandom.hex(2)}`,
    feedOptions: { startFromBeginning: true, mode: 'latestVersion' },
  })
}

export async function startWorker(host: ChangeFeedProcessorHost<Visit>): Promise<void> {
  await host.registerObserver({
    processChanges: ({ signal }, changes) =>
      systemClock.sleep(MS_PER_CHANGE * changes.length, signal),
  })
}

/** Something to look at in `tidemark dev`: visits that are written all the time, and a worker that processes them. */
export async function startDemoWork(
  store: Store,
  logger: Logger | undefined,
): Promise<AsyncDisposable> {
  const database = store.database(DEMO.database)
  const visits = await database.createCollectionIfNotExists<Visit>({
    id: DEMO.visits,
    partitionKey: '/page',
    partitionCount: 4,
  })
  const leases = await database.createCollectionIfNotExists({
    id: DEMO.leases,
    partitionKey: '/partitionKey',
  })
  const host = demoWorker({ feed: visits, leases: new DocumentLeaseStore(leases), logger })
  await startWorker(host)
  const ended = new AbortController()
  const writing = writeVisits(visits, systemClock, ended.signal)
  return {
    async [Symbol.asyncDispose]() {
      ended.abort()
      await writing
      await host.unregisterObservers()
    },
  }
}

/** Until the signal ends it. */
async function writeVisits(
  visits: Collection<Visit>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let written = 0
  for (let round = 1; !signal.aborted; round += 1) {
    const isBurst = round % BURST.everyRounds === 0
    const count = isBurst ? BURST.documents : STEADY.documents
    for (let n = 0; n < count && !signal.aborted; n += 1) {
      const number = written % DOCUMENTS
      written += 1
      const page = `/page-${number % PAGES}`
      await visits.upsert({ id: `visit-${number}`, page, visits: written })
    }
    await clock.sleep(STEADY.everyMs, signal).catch(() => {})
  }
}

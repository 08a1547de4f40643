import { systemClock } from '@tidemark/contracts'
import { FakeFeed } from '@tidemark/testing'
import { ChangeFeedProcessorHost } from '../../host/change-feed-processor-host.ts'
import { MemoryLeaseStore } from '../../lease-stores/memory-lease-store.ts'
import { SCRIPTED, Script, until } from './threads-stage.fixture.ts'

/* Runs a host with observers in threads, stops it, and does nothing to end the process. */

const feed = new FakeFeed({ clock: systemClock })
const host = new ChangeFeedProcessorHost({
  hostName: 'child',
  group: 'group',
  feed,
  leases: new MemoryLeaseStore(),
  feedOptions: { startFromBeginning: true },
})
const script = new Script()
for (let n = 0; n < 8; n += 1) feed.append(`key${n}`)
await host.registerObserver({ observerModule: SCRIPTED, threads: 2, observerData: script.data })
const processed = (): number => script.of('processChanges').flatMap(({ ids = [] }) => ids).length
await until(() => processed() === 8)
process.send?.(`processed ${processed()}`)
await host.unregisterObservers()
script[Symbol.dispose]()
process.send?.('stopped', () => process.disconnect())

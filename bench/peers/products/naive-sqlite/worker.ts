import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import type { OrderDocument } from '../../../data/order-document.ts'
import { loopingWorker } from '../../contract/looping-worker.ts'
import { POLL_MS } from '../../contract/poll-interval.ts'
import type { JoinGroup } from '../../contract/worker.ts'
import { NaiveFeed } from './naive-feed.ts'
import type { NaivePlace } from './server.ts'

export const join: JoinGroup<NaivePlace> = ({ place, ...task }, handle) => {
  const feed = new NaiveFeed(place.file, place)
  const part = task.workers === 1 ? undefined : task.worker
  const name = `${place.group}/${part ?? 'all'}`
  const readPage = feed.pages({ part, limit: task.pageSize })
  let seq = feed.position(name, place.after)
  return Promise.resolve(
    loopingWorker({
      gate: task.gate,
      async turn() {
        const page = readPage(seq)
        if (page.bodies.length === 0) return sleep(POLL_MS)
        handle(page.bodies.map((body) => JSON.parse(body) as OrderDocument))
        seq = page.seq
        feed.checkpoint(name, seq)
        await setImmediate()
      },
      close: () => feed[Symbol.dispose](),
    }),
  )
}

import type { OrderDocument } from '../../../data/order-document.ts'
import type { JoinGroup } from '../../contract/worker.ts'
import type { PgoutputPlace } from './server.ts'
import { SlotStream } from './slot-stream.ts'

const RETRY_MS = 200

/** Handles transactions, as many as make a page or are there, and confirms them. Stands by while another worker has the slot. */
export const join: JoinGroup<PgoutputPlace> = async ({ place, ...task }, handle) => {
  const stream = await SlotStream.connect(place.url, {
    slot: place.slot,
    pageSize: task.pageSize,
    statusEveryMs: task.takeoverMs / 4,
    onPage: (bodies) => handle(bodies.map((body) => JSON.parse(body) as OrderDocument)),
  })
  void task.gate.then(() => stream.run(RETRY_MS))
  return {
    get shares() {
      return stream.isStreaming ? 1 : 0
    },
    [Symbol.asyncDispose]: () => stream[Symbol.asyncDispose](),
  }
}

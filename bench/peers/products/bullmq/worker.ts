import { Worker } from 'bullmq'
import type { OrderDocument } from '../../../data/order-document.ts'
import type { JoinGroup } from '../../contract/worker.ts'
import type { BullmqPlace } from './server.ts'

/** Jobs come one by one; as many run at once as others have in a page. */
export const join: JoinGroup<BullmqPlace> = async ({ place, ...task }, handle) => {
  const worker = new Worker<OrderDocument>(
    place.queue,
    ({ data }) => {
      handle([data])
      return Promise.resolve()
    },
    {
      connection: place.connection,
      concurrency: task.pageSize,
      autorun: false,
      lockDuration: task.takeoverMs,
      stalledInterval: task.takeoverMs / 4,
    },
  )
  // Of a job whose lock was lost meanwhile, too: another worker has it.
  worker.on('error', () => {})
  await worker.waitUntilReady()
  let running: Promise<void> = Promise.resolve()
  void task.gate.then(() => {
    running = worker.run()
    return running
  })
  return {
    shares: undefined,
    async [Symbol.asyncDispose]() {
      await worker.close()
      await running
    },
  }
}

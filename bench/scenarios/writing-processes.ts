import type { WriteReply, WriteRequest } from '../children/write-orders.child.ts'
import { BenchChild } from '../measuring/child-process.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

const PROCESSES = 3

/** Three processes write to one folder, 64 writers each: do they share it fairly, and at what cost? */
export const writingProcesses: Scenario = {
  name: 'writing-processes',
  measures: [
    {
      name: 'store.write.processes3.sum',
      unit: 'documents/s',
      rawIs: 'one process of the same kind alone',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.8 },
    },
    {
      name: 'store.write.processes3.fastestPerSlowest',
      unit: 'ratio',
      rawIs: 'even shares',
      goal: { of: 'value', is: 'atMost', limit: 1.3 },
    },
    {
      name: 'store.write.processes3.longestWait',
      unit: 'ms',
      rawIs: 'one process alone',
      goal: { of: 'value', is: 'atMost', limit: 50 },
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    await loadOrders(store, documents)
    const writers = await Promise.all(
      Array.from({ length: PROCESSES }, () =>
        BenchChild.start<WriteRequest, WriteReply>(
          new URL('../children/write-orders.child.ts', import.meta.url),
        ),
      ),
    )
    await Promise.all(writers.map((writer) => writer.call({ kind: 'open', folder })))
    const write = (seconds: number): WriteRequest => ({ kind: 'write', documents, seconds })
    return {
      async ours(seconds) {
        const replies = await Promise.all(writers.map((writer) => writer.call(write(seconds))))
        const rates = replies.map(({ perSecond }) => perSecond)
        return {
          'store.write.processes3.sum': rates.reduce((sum, rate) => sum + rate, 0),
          'store.write.processes3.fastestPerSlowest': Math.max(...rates) / Math.min(...rates),
          'store.write.processes3.longestWait': Math.max(...replies.map(({ maxMs }) => maxMs)),
        }
      },
      async raw(seconds) {
        const { perSecond, maxMs } = await writers[0]!.call(write(seconds))
        return {
          'store.write.processes3.sum': perSecond,
          'store.write.processes3.fastestPerSlowest': 1,
          'store.write.processes3.longestWait': maxMs,
        }
      },
      async [Symbol.asyncDispose]() {
        await Promise.all(writers.map((writer) => writer[Symbol.asyncDispose]()))
        await store.close()
      },
    }
  },
}

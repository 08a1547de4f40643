import { readFile } from 'node:fs/promises'
import type { WriteReply, WriteRequest } from '../children/write-orders.child.ts'
import { BenchChild } from '../measuring/child-process.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { compileSlowSync, slowSyncEnvironment } from '../measuring/slow-sync.ts'

/**
 * Every disk sync takes 1 ms longer, as on disks that are not as fast as this machine's: what group
 * commit is for. A shim slows `fsync` and `fdatasync`, and counts them.
 */
export const slowDisk: Scenario = {
  name: 'slow-disk',
  measures: [
    {
      name: 'store.write.slowSync.64',
      unit: 'documents/s',
      rawIs: 'the same with one writer; every sync takes 1 ms longer',
      goal: { of: 'ratio', is: 'atLeast', limit: 12 },
    },
    {
      name: 'store.write.slowSync.syncsPerWrite.1',
      unit: 'syncs',
      rawIs: 'one sync a write',
      // Checkpoints of the write-ahead log have syncs too.
      goal: { of: 'value', is: 'atMost', limit: 1.05 },
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const shim = await compileSlowSync(folder)
    const counts = `${folder}/syncs`
    const writer = await BenchChild.start<WriteRequest, WriteReply>(
      new URL('../children/write-orders.child.ts', import.meta.url),
      { env: slowSyncEnvironment(shim, { ms: 1, countFile: counts }) },
    )
    const load = Math.min(documents, 10_000)
    await writer.call({ kind: 'open', folder: `${folder}/store`, load })
    const syncs = async (): Promise<number> => (await readFile(counts)).readUInt32LE(0)
    return {
      async ours(seconds) {
        const { perSecond } = await writer.call({ kind: 'write', documents: load, seconds })
        const before = await syncs()
        const one = await writer.call({ kind: 'write', documents: load, seconds, writers: 1 })
        const made = (await syncs()) - before
        // A shim that was not loaded would make every disk look fast.
        if (made === 0) throw new Error('the shim saw no sync')
        return {
          'store.write.slowSync.64': perSecond,
          'store.write.slowSync.syncsPerWrite.1': made / (one.perSecond * seconds),
        }
      },
      async raw(seconds) {
        const one = await writer.call({ kind: 'write', documents: load, seconds, writers: 1 })
        return {
          'store.write.slowSync.64': one.perSecond,
          'store.write.slowSync.syncsPerWrite.1': 1,
        }
      },
      [Symbol.asyncDispose]: () => writer[Symbol.asyncDispose](),
    }
  },
}

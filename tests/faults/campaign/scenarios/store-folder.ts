import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startRedis } from '../redis-faults.ts'
import type { StagedScenario } from '../scenario.ts'

const AWAY_MS = 2_000

/**
 * Rights do not stop root, and no process loses a file that it has open. What is left is the folder itself: it is moved
 * away, with something else in its place, so that whoever opens anything in it fails.
 */
export const storeFolderAway: StagedScenario = {
  name: 'store-folder-away',
  about:
    'the folder of the store is away for a while: a host that starts is refused, the others go on or recover',
  async act(stage) {
    const { place } = await startRedis(stage)
    await stage.startAll(['a', 'b'], place)
    const folder = join(stage.folder, 'store')
    const elsewhere = join(stage.folder, 'store-elsewhere')
    await rename(folder, elsewhere)
    await writeFile(folder, '')
    const [, victim] = stage.workers
    await victim?.process.kill()
    const refusal = await stage.start('c', place).then(
      () => 'none',
      (error: unknown) => String(error),
    )
    await sleep(AWAY_MS)
    await rm(folder)
    await rename(elsewhere, folder)
    await stage.start('d', place)
    await stage.untilAtWork()
    const code = /code: '(ERR_[A-Z_]+)'/.exec(refusal)?.[1]
    if (code === undefined) throw new Error(`the host that started was told: ${refusal}`)
    return {
      faults: 2,
      signs: { 'hosts refused': 1 },
      tolerates: ['feedError'],
      figures: `refused with ${code}, ${stage.failedWrites} writes failed meanwhile`,
    }
  },
}

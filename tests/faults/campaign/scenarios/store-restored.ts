import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { copySqliteStore } from '@tidemark/engine-sqlite/internal'
import { startRedis } from '../redis-faults.ts'
import type { StagedScenario, Told } from '../scenario.ts'
import type { CampaignStage } from '../stage.ts'

const AHEAD_MS = 1_500

/** Leases in Redis go on; the folder that they are about is put back as it was 1.5 s before. */
async function putBack(
  stage: CampaignStage,
  copy: (from: string, to: string) => Promise<unknown>,
): Promise<Told> {
  const { place } = await startRedis(stage)
  await stage.startAll(['a', 'b'], place)
  const folder = join(stage.folder, 'store')
  const backup = join(stage.folder, 'backup')
  await copySqliteStore({ from: folder, to: backup })
  const before = stage.written.length
  await sleep(AHEAD_MS)
  await stage.replaceStore(async () => {
    await rm(folder, { recursive: true })
    await copy(backup, folder)
  })
  const ahead = stage.written.length - before
  const lost = stage.written.length - (await stage.store.events.count())
  await stage.startAll(['c', 'd'], place)
  await sleep(AHEAD_MS)
  return {
    faults: 1,
    signs: {
      'changes done that the store lost': lost,
      'changes since': ahead,
    },
    figures: `${ahead} changes after the copy`,
  }
}

export const storeRestored: StagedScenario = {
  name: 'store-restored',
  about:
    'the store is restored from a backup that the leases are ahead of: what is written then is done',
  act: (stage) => putBack(stage, (from, to) => copySqliteStore({ from, to })),
}

export const storeCopiedBack: StagedScenario = {
  name: 'store-copied-back',
  about: 'the same with files that are copied back by hand',
  act: (stage) => putBack(stage, (from, to) => cp(from, to, { recursive: true })),
}

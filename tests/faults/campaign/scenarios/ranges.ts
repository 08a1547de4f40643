import { startRedisProcess } from '@tidemark/testing/servers'
import { runRangeFaults } from '../../ranges/run-range-faults.ts'
import { judge } from '../judge.ts'
import { outcomeOf, timed } from '../run-staged.ts'
import type { Scenario } from '../scenario.ts'
import { MAX_ITEM_COUNT } from '../stage.ts'

export interface RangesOptions {
  readonly durationMs: number
  readonly leases: 'documents' | 'redis'
}

/** Ranges split and merge without end under hosts that are killed, as is what splits them. */
export function ranges({ durationMs, leases }: RangesOptions): Scenario {
  const name = leases === 'redis' ? 'ranges-redis' : 'ranges'
  return {
    name,
    about: `ranges split and merge under hosts that are killed, leases in ${leases}`,
    run: () => timed(name, () => run({ durationMs, leases })),
  }
}

async function run({ durationMs, leases }: RangesOptions): ReturnType<Parameters<typeof timed>[1]> {
  const redis = leases === 'redis' ? await startRedisProcess() : undefined
  try {
    const result = await runRangeFaults({ durationMs, redisPort: redis?.port })
    const { happened, faults, written, histories, living } = result
    const verdict = judge(
      { written, histories, living },
      // Those hosts have batches of the same size.
      { maxItemCount: MAX_ITEM_COUNT, exclusive: true, abortedBatches: 0 },
    )
    const { hostKills = 0, changerKills = 0 } = happened
    const told = { faults: hostKills + changerKills, signs: happened }
    return outcomeOf(told, verdict, { written: written.length, wrong: faults })
  } finally {
    await redis?.stop()
  }
}

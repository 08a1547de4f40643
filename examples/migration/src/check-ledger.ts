import { isDeepStrictEqual } from 'node:util'
import type { Collection, Stored } from 'tidemark'
import type { City } from './city.ts'

export interface LedgerFindings {
  readonly missing: number
  readonly different: number
}

const IN_FLIGHT = 32

/** Whether the last acknowledged version of each city that the writer wrote is in the target. */
export async function checkLedger(
  target: Collection<City>,
  ledger: readonly City[],
): Promise<LedgerFindings> {
  let missing = 0
  let different = 0
  let next = 0
  const check = async (): Promise<void> => {
    for (let city = ledger[next++]; city !== undefined; city = ledger[next++]) {
      const { document } = await target.read(city.id, city.name)
      if (document === undefined) missing += 1
      else if (!isDeepStrictEqual(withoutSystemProperties(document), { ...city })) different += 1
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, check))
  return { missing, different }
}

function withoutSystemProperties(stored: Stored<City>): City {
  return Object.fromEntries(
    Object.entries(stored).filter(([name]) => !name.startsWith('_')),
  ) as unknown as City
}

import { afterEach } from 'vitest'
import { assertFleetHistory, Fleet, type FleetOptions } from '@tidemark/testing'

/**
 * Makes the fleets of one test file. Each ends with its test, and its history is judged before its hosts stop and
 * after.
 */
export function fleetsWith(
  defaults: FleetOptions,
  judge: (fleet: Fleet) => void = assertFleetHistory,
): (options?: FleetOptions) => Fleet {
  const running: Fleet[] = []
  afterEach(async () => {
    for (const fleet of running.splice(0)) {
      judge(fleet)
      await fleet.end()
      judge(fleet)
    }
  })
  return (options = {}) => {
    const fleet = new Fleet({ feedOptions: { startFromBeginning: true }, ...defaults, ...options })
    running.push(fleet)
    return fleet
  }
}

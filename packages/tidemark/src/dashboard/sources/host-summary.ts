import type { HostProfile } from '@tidemark/contracts'
import type { HostSummary } from '../views.ts'

const MOST_LEASES = 1_000

/** What a host tells of itself in its heartbeats. Null: it tells nothing, or something else. */
export function hostSummary(profile: HostProfile): HostSummary | null {
  const text: unknown = Reflect.get(profile, 'summary')
  if (typeof text !== 'string' || text.length > 4_096) return null
  let told: unknown
  try {
    told = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof told !== 'object' || told === null) return null
  const value = (name: string): unknown => Reflect.get(told, name)
  const number = (name: string): number | null => {
    const found = value(name)
    return typeof found === 'number' && Number.isFinite(found) ? found : null
  }
  const error = value('lastError')
  const halted = value('halted')
  return {
    changesPerSecond: number('changesPerSecond'),
    batchP50Ms: number('batchP50Ms'),
    batchP99Ms: number('batchP99Ms'),
    errors: number('errors'),
    lastError: typeof error === 'string' ? error : null,
    lastErrorMs: number('lastErrorMs'),
    halted: Array.isArray(halted)
      ? halted.filter((one) => typeof one === 'string').slice(0, MOST_LEASES)
      : [],
  }
}

import type { VersionSettings } from './program.ts'
import type { Session } from './session.ts'

/**
 * Switches the log of all versions. When it starts over it holds nothing of before, and whoever has not
 * seen what happened meanwhile has lost something.
 */
export async function switchVersions(
  { model, collection }: Session,
  value: VersionSettings | null,
): Promise<void> {
  const begins = value !== null && model.allVersions === null
  await collection.updateSettings({ allVersions: value })
  model.allVersions = value
  if (!begins) return
  const mode = 'allVersions'
  for (const range of model.ranges) {
    const { minInclusive, maxExclusive } = range
    const interval = { minInclusive, maxExclusive }
    const now = { range: interval, start: 'now', mode } as const
    const { lsn } = await collection.resolveStart(now)
    model.beginLog(interval, lsn)
  }
  for (const entries of model.history.values()) {
    for (const entry of entries) entry.isLogged = false
  }
}

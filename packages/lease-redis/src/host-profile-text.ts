import type { HostProfile } from '@tidemark/contracts'

/**
 * A profile as stored. Default values are left out: the scripts compare texts, and a host of an older release without
 * the field has the same profile.
 */
export function profileText({
  weight,
  minLeases,
  maxLeases,
  leaving,
  standby = false,
  refuses = [],
  leasesPerRange = 1,
  presence,
  balanceBy = 'count',
  load,
}: HostProfile): string {
  return JSON.stringify({
    weight,
    minLeases,
    // JSON has no infinity: null stands for "no highest number".
    maxLeases: Number.isFinite(maxLeases) ? maxLeases : null,
    leaving,
    ...(standby ? { standby } : {}),
    ...(refuses.length > 0 ? { refuses } : {}),
    ...(leasesPerRange === 1 ? {} : { leasesPerRange }),
    ...(presence === undefined ? {} : { presence }),
    ...(balanceBy === 'count' ? {} : { balanceBy }),
    // The last: sync.lua compares what is before it.
    ...(load === undefined ? {} : { load }),
  })
}

/** Undefined when the text is not a profile. */
export function parseProfile(text: string): HostProfile | undefined {
  const parsed: unknown = JSON.parse(text)
  if (!isStoredProfile(parsed)) return undefined
  const {
    weight,
    minLeases,
    maxLeases,
    leaving,
    standby,
    refuses,
    leasesPerRange,
    presence,
    balanceBy,
    load,
  } = parsed
  return {
    weight,
    minLeases,
    maxLeases: maxLeases ?? Infinity,
    leaving,
    ...(standby === undefined ? {} : { standby }),
    ...(refuses === undefined ? {} : { refuses }),
    ...(leasesPerRange === undefined ? {} : { leasesPerRange }),
    ...(presence === undefined ? {} : { presence }),
    ...(balanceBy === undefined ? {} : { balanceBy }),
    ...(load === undefined ? {} : { load }),
  }
}

function isStoredProfile(
  value: unknown,
): value is Omit<HostProfile, 'maxLeases'> & { readonly maxLeases: number | null } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'weight' in value &&
    typeof value.weight === 'number' &&
    'minLeases' in value &&
    typeof value.minLeases === 'number' &&
    'maxLeases' in value &&
    'leaving' in value &&
    typeof value.leaving === 'boolean' &&
    (!('standby' in value) || typeof value.standby === 'boolean') &&
    (!('refuses' in value) || isTexts(value.refuses)) &&
    (!('leasesPerRange' in value) || typeof value.leasesPerRange === 'number') &&
    (!('presence' in value) || typeof value.presence === 'string') &&
    (!('balanceBy' in value) || typeof value.balanceBy === 'string') &&
    (!('load' in value) || typeof value.load === 'string')
  )
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string')
}

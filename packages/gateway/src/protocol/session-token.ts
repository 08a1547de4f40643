/** What a session has seen: for each pkrange the highest LSN. */
export type SessionProgress = ReadonlyMap<number, number>

/**
 * Of the protocol (`x-ms-version`): older clients cannot read a token that is a vector. As in azure-cosmos-dotnet-v3:
 * `StoreClient.UpdateResponseHeader` makes a simple token for versions before `v2018_06_18`, and `SessionTokenHelper.Parse`
 * expects a vector from that version on (`VersionUtility.IsLaterThan` includes the date itself).
 */
const FIRST_OF_VECTORS = '2018-06-18'

/** The token of one pkrange: `{id}:-1#{lsn}`, and `{id}:{lsn}` for clients that say an older version. */
export function sessionToken(
  range: number,
  lsn: number,
  version: string = FIRST_OF_VECTORS,
): string {
  return version < FIRST_OF_VECTORS ? `${range}:${lsn}` : `${range}:-1#${lsn}`
}

/**
 * Reads `{id}:{version}#{lsn}[#{region}={lsn}…]`, several joined by commas, and `{id}:{lsn}` of old SDKs. Parts that
 * are none of these are passed over: they are of another server, and nothing here can be behind them.
 */
export function parseSessionToken(text: string): SessionProgress {
  const progress = new Map<number, number>()
  for (const part of text.split(',')) {
    const match = /^\s*(\d+):(?:-?\d+#)?(\d+)(?:#\d+=-?\d+)*\s*$/.exec(part)
    const range = Number(match?.[1])
    const lsn = Number(match?.[2])
    if (!Number.isSafeInteger(range) || !Number.isSafeInteger(lsn)) continue
    progress.set(range, Math.max(lsn, progress.get(range) ?? 0))
  }
  return progress
}

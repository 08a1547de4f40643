/** What a server answered. */
export interface PostAnswer {
  readonly status: number
  /** How long it wants to be left alone, in ms. */
  readonly retryAfterMs: number | undefined
}

/**
 * Posts a text and waits for the head of the answer; what follows it is not read. Redirects are answers like others.
 * Rejects as `fetch` does, and when there is no answer in time.
 */
export async function post(
  url: string,
  {
    body,
    headers,
    timeoutMs,
    signal,
  }: {
    readonly body: string
    readonly headers: Readonly<Record<string, string>>
    readonly timeoutMs: number
    readonly signal: AbortSignal
  },
): Promise<PostAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers,
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  })
  // An endless answer holds nobody.
  await response.body?.cancel()
  const { status } = response
  return { status, retryAfterMs: retryAfterMs(response.headers.get('retry-after')) }
}

/** Seconds, or the date at which it may be tried again (RFC 9110). */
function retryAfterMs(value: string | null): number | undefined {
  if (value === null) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000
  const atMs = Date.parse(value)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - Date.now())
}

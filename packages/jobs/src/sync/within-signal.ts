/**
 * Waits for a call that cannot be aborted no longer than the signal allows. The call goes on unheard: only for calls
 * that may arrive late.
 */
export async function withinSignal<Value>(
  call: Promise<Value>,
  signal: AbortSignal | undefined,
): Promise<Value> {
  if (signal === undefined) return call
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([call, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
    call.catch(() => {})
  }
}

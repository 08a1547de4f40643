/** Epoch ms of an HTTP date; undefined when it is none. */
export function parseHttpDate(text: string): number | undefined {
  // Date.parse takes many forms: only those of HTTP begin with a weekday.
  if (!/^[A-Za-z]{3,9},? /.test(text)) return undefined
  const timeMs = Date.parse(text)
  return Number.isNaN(timeMs) ? undefined : timeMs
}

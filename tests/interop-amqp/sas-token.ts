import { createHmac } from 'node:crypto'
import type { Credentials } from './interop-amqp.fixture.ts'

/** A shared access signature as every Service Bus library makes them. */
export function sasToken(
  { name, key }: Credentials,
  { resource, expiresMs }: { readonly resource: string; readonly expiresMs: number },
): string {
  const sr = encodeURIComponent(resource)
  const se = Math.floor(expiresMs / 1000)
  const sig = createHmac('sha256', key).update(`${sr}\n${se}`).digest('base64')
  return `SharedAccessSignature sr=${sr}&sig=${encodeURIComponent(sig)}&se=${se}&skn=${name}`
}

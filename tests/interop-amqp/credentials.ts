import { createHmac } from 'node:crypto'
import type { AccessPolicy } from '@tidemark/messaging/front'

export interface Credentials {
  readonly name: string
  readonly key: string
}

/** What the connection string of Microsoft's emulator has. */
export const ROOT: Credentials = { name: 'RootManageSharedAccessKey', key: 'SAS_KEY_VALUE' }
export const SENDER: Credentials = { name: 'sender', key: 'bm90IGEgc2VjcmV0LCBzZW5k' }
export const LISTENER: Credentials = { name: 'listener', key: 'bm90IGEgc2VjcmV0LCBsaXN0ZW4=' }

export const POLICIES: readonly AccessPolicy[] = [
  { name: ROOT.name, keys: [ROOT.key], rights: ['Listen', 'Send', 'Manage'] },
  { name: SENDER.name, keys: [SENDER.key], rights: ['Send'] },
  { name: LISTENER.name, keys: [LISTENER.key], rights: ['Listen'] },
]

/** A token as the client would make it. */
export function sasToken(
  { name, key }: Credentials,
  { resource, expiresMs }: { readonly resource: string; readonly expiresMs: number },
): string {
  const sr = encodeURIComponent(resource)
  const se = Math.floor(expiresMs / 1000)
  const sig = createHmac('sha256', key).update(`${sr}\n${se}`).digest('base64')
  return `SharedAccessSignature sr=${sr}&sig=${encodeURIComponent(sig)}&se=${se}&skn=${name}`
}

/** For everything in the namespace. */
export function tokenUntil(credentials: Credentials, expiresMs: number): string {
  return sasToken(credentials, { resource: 'sb://localhost/', expiresMs })
}

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

/** Key of the gateways that tests start; 32 bytes. */
export const SERVED_KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

/** Another one, of clients that may only read. */
export const READ_ONLY_KEY = 'ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA='

/** Made once: that costs more than a signature. */
const SECRETS: ReadonlyMap<string, KeyObject> = new Map(
  [SERVED_KEY, READ_ONLY_KEY].map((key) => [key, createSecretKey(Buffer.from(key, 'base64'))]),
)

export interface RequestToSign {
  readonly method: string
  /** As it goes over the wire, percent-encoded. */
  readonly path: string
  /** @default SERVED_KEY */
  readonly key?: typeof SERVED_KEY | typeof READ_ONLY_KEY | undefined
}

/** Headers that a client without a library sends: date, version and the signature. */
export function signedHeaders({
  method,
  path,
  key = SERVED_KEY,
}: RequestToSign): Record<string, string> {
  const date = new Date().toUTCString()
  const { type, link } = signedResource(path)
  const text = `${method.toLowerCase()}\n${type}\n${link}\n${date.toLowerCase()}\n\n`
  const signature = createHmac('sha256', SECRETS.get(key)!).update(text).digest('base64')
  return {
    authorization: encodeURIComponent(`type=master&ver=1.0&sig=${signature}`),
    'x-ms-date': date,
    'x-ms-version': '2020-07-15',
  }
}

/** What of a path is signed: an odd number of segments names a feed, an even one a resource. */
function signedResource(path: string): { readonly type: string; readonly link: string } {
  const [target = ''] = path.split('?')
  const segments = target
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => decoded(segment))
  if (segments[0] === 'offers') return { type: 'offers', link: (segments[1] ?? '').toLowerCase() }
  if (segments.at(-2) === 'operations')
    return { type: 'colls', link: segments.slice(0, -2).join('/') }
  return segments.length % 2 === 1
    ? { type: (segments.at(-1) ?? '').toLowerCase(), link: segments.slice(0, -1).join('/') }
    : { type: (segments.at(-2) ?? '').toLowerCase(), link: segments.join('/') }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

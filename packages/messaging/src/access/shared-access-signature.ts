/** What a shared access signature says, before it is known to be true. */
export interface SharedAccessSignature {
  /** `skn`. */
  readonly name: string
  /** The text that was signed: the resource as it stands in the token, and the end. */
  readonly signed: string
  /** `sig`. */
  readonly bytes: Uint8Array
  /** `se`, epoch ms. */
  readonly expiresMs: number
  /** Of the resource (`sr`): in lower case, without slashes at its ends; empty for the whole namespace. */
  readonly path: string
}

const PREFIX = 'SharedAccessSignature '
/** Far above that of a real token. */
const MAX_CHARACTERS = 8192

/** Undefined for a text that is none. */
export function parseSharedAccessSignature(token: string): SharedAccessSignature | undefined {
  if (token.length > MAX_CHARACTERS || !token.startsWith(PREFIX)) return undefined
  const fields = new Map<string, string>()
  for (const field of token.slice(PREFIX.length).split('&')) {
    const at = field.indexOf('=')
    if (at < 1) return undefined
    fields.set(field.slice(0, at), field.slice(at + 1))
  }
  const [sr, sig, se, skn] = ['sr', 'sig', 'se', 'skn'].map((name) => fields.get(name))
  if (sr === undefined || sig === undefined || skn === undefined) return undefined
  if (se === undefined || !/^\d{1,12}$/.test(se)) return undefined
  try {
    return {
      name: decodeURIComponent(skn),
      signed: `${sr}\n${se}`,
      bytes: Buffer.from(decodeURIComponent(sig), 'base64'),
      expiresMs: Number(se) * 1000,
      path: pathSigned(decodeURIComponent(sr)),
    }
  } catch {
    return undefined
  }
}

/** Of the resource in a token, which may have a host without a scheme. What cannot be a host is a part of the path. */
function pathSigned(resource: string): string {
  const [first = ''] = resource.split('/', 1)
  const isHost =
    first === 'localhost' ||
    first.includes('.') ||
    (first.includes(':') && !resource.includes('://'))
  return resourcePath(isHost ? `sb://${resource}` : resource)
}

/** The path of a resource such as `sb://localhost:5672/orders/Subscriptions/all`, whatever its scheme and host. */
export function resourcePath(resource: string): string {
  const withoutHost = resource.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '')
  return withoutSlashes(withoutHost.replace(/[?#].*$/s, '')).toLowerCase()
}

/** A path without those at its ends. In one pass: a client may send thousands of them. */
export function withoutSlashes(path: string): string {
  let [start, end] = [0, path.length]
  while (path[start] === '/') start++
  while (end > start && path[end - 1] === '/') end--
  return path.slice(start, end)
}

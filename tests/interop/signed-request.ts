import { createHmac } from 'node:crypto'

/** A request as the protocol has it, for what the client hides or never does. */
export interface WireRequest {
  readonly method?: string | undefined
  /** Without the leading slash; encoded as the client does it. */
  readonly path: string
  /** Signed instead of the path's own link, by clients that address resources by `_rid`. */
  readonly signedLink?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** A text goes out as it is, anything else as JSON. */
  readonly body?: unknown
  readonly key?: string | undefined
  readonly date?: Date | undefined
  readonly signal?: AbortSignal | undefined
}

export interface WireAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Undefined for an empty body. */
  readonly json: Readonly<Record<string, unknown>> | undefined
}

const VERSION = '2020-07-15'

/** Signs and sends one request. Written from the protocol's documentation, not with the gateway's own code. */
export async function sendSigned(
  endpoint: string,
  key: string,
  request: WireRequest,
): Promise<WireAnswer> {
  const {
    method = 'GET',
    path,
    signedLink,
    headers = {},
    body,
    date = new Date(),
    signal,
  } = request
  const msDate = date.toUTCString()
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(new URL(path, endpoint), {
    method,
    headers: {
      'x-ms-date': msDate,
      'x-ms-version': VERSION,
      authorization: authorization({ method, path, signedLink, msDate }, request.key ?? key),
      ...headers,
    },
    ...(text !== undefined && { body: text }),
    ...(signal !== undefined && { signal }),
  })
  const answered = await response.text()
  const json: unknown = answered === '' ? undefined : JSON.parse(answered)
  return {
    status: response.status,
    headers: response.headers,
    text: answered,
    json: json as WireAnswer['json'],
  }
}

interface Signed {
  readonly method: string
  readonly path: string
  readonly signedLink?: string | undefined
  readonly msDate: string
}

/** The value of the authorization header. */
export function authorization({ method, path, signedLink, msDate }: Signed, key: string): string {
  const { type, link: ownLink } = signedResource(path)
  const link = signedLink ?? ownLink
  const text = `${method.toLowerCase()}\n${type}\n${link}\n${msDate.toLowerCase()}\n\n`
  const signature = createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64')
  return encodeURIComponent(`type=master&ver=1.0&sig=${signature}`)
}

function signedResource(path: string): { readonly type: string; readonly link: string } {
  const segments = path === '' ? [] : path.replace(/\/$/, '').split('/').map(decodeURIComponent)
  if (segments[0] === 'offers') {
    return { type: 'offers', link: segments[1]?.toLowerCase() ?? '' }
  }
  if (segments[4] === 'operations') return { type: 'colls', link: segments.slice(0, 4).join('/') }
  const isList = segments.length % 2 === 1
  const type = isList ? segments.at(-1) : segments.at(-2)
  const link = isList ? segments.slice(0, -1) : segments
  return { type: type ?? '', link: link.join('/') }
}

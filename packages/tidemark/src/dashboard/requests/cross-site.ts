import { problemAnswer } from '../problem-answer.ts'

/** Browsers let no foreign page send it without asking the server first. */
const ACTION_HEADER = 'x-tidemark-action'

/**
 * The answer to what a page of another site makes a browser load: it could not read it, but it would be work for the server. A link
 * to this server may be followed. Undefined: it is neither.
 */
export function refuseForeignLoad(request: Request): Response | undefined {
  const isLink = request.headers.get('sec-fetch-dest') === 'document'
  return isForeign(request) && !isLink ? crossSite() : undefined
}

/** The answer to a request that a page of another site may have caused; undefined: it has not. */
export function refuseCrossSite(request: Request): Response | undefined {
  const { headers, method } = request
  if (isForeign(request)) return crossSite()
  if (method !== 'POST') return undefined
  const origin = headers.get('origin')
  const host = headers.get('host') ?? new URL(request.url).host
  // Not the scheme: a proxy with TLS before this server is of the same origin for the browser.
  if (origin !== null && URL.parse(origin)?.host !== host.toLowerCase()) return crossSite()
  if (headers.get(ACTION_HEADER) === null) return crossSite()
  const type = headers.get('content-type') ?? ''
  if (/^application\/json *(;|$)/i.test(type)) return undefined
  const message = 'An action takes a body of the type application/json.'
  return problemAnswer(415, { code: 'ERR_UNSUPPORTED_TYPE', message })
}

function isForeign({ headers }: Request): boolean {
  const site = headers.get('sec-fetch-site')
  return site !== null && site !== 'same-origin' && site !== 'none'
}

function crossSite(): Response {
  const message = `Only the page itself may ask for this: same origin, and a header ${ACTION_HEADER} for actions.`
  return problemAnswer(403, { code: 'ERR_CROSS_SITE', message })
}

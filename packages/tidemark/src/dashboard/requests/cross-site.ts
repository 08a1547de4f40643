import { problemAnswer } from '../problem-answer.ts'

/** Browsers let no foreign page send it without asking the server first. */
const ACTION_HEADER = 'x-tidemark-action'

/** The answer to a request that a page of another site may have caused; undefined: it has not. */
export function refuseCrossSite(request: Request): Response | undefined {
  const { headers, method } = request
  const site = headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin' && site !== 'none') return crossSite()
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

function crossSite(): Response {
  const message = `Only the page itself may ask for this: same origin, and a header ${ACTION_HEADER} for actions.`
  return problemAnswer(403, { code: 'ERR_CROSS_SITE', message })
}

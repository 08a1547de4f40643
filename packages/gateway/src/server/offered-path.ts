import type { IncomingMessage } from 'node:http'

/** The first segments of paths that clients of the service ask for. */
const COSMOS = ['dbs', 'offers', 'addresses']

/** A client of the service signs in this form, percent-encoded or not. */
const SIGNATURE = /^type(?:=|%3d)/i

/**
 * Whether a request is offered to `beside` before it is a client's of the service. Every request is asked this, so the
 * usual path must cost next to nothing.
 *
 * @param path without query and slashes at its ends
 */
export function isOffered(path: string, { method, headers }: IncomingMessage): boolean {
  // Requests of the web platform have no such method.
  if (method === 'TRACE') return false
  if (path !== '') return !COSMOS.some((first) => path.startsWith(first) && isEnd(path, first))
  return (
    headers.accept?.includes('text/html') === true && !SIGNATURE.test(headers.authorization ?? '')
  )
}

function isEnd(path: string, { length }: string): boolean {
  return path.length === length || path[length] === '/'
}

import type { PageFile, PageFiles } from '../platform/page-files.ts'
import { ANSWER_HEADERS, problemAnswer } from './problem-answer.ts'

const INDEX = 'index.html'
const TYPES: ReadonlyMap<string, string> = new Map([
  ['css', 'text/css; charset=utf-8'],
  ['html', 'text/html; charset=utf-8'],
  ['ico', 'image/x-icon'],
  ['js', 'text/javascript; charset=utf-8'],
  ['json', 'application/json; charset=utf-8'],
  ['png', 'image/png'],
  ['svg', 'image/svg+xml'],
  ['txt', 'text/plain; charset=utf-8'],
  ['woff2', 'font/woff2'],
])
/** Scripts, styles and everything else come from this server, and nothing stands in the page itself. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** A file of the page; `path` is relative to it. */
export function pageAnswer(files: PageFiles, path: string, request: Request): Response {
  const name = path === '' ? INDEX : path
  const file = files.get(name)
  if (file === undefined) {
    const message = files.size === 0 ? 'The page is not built.' : 'There is no such path.'
    return problemAnswer(404, { code: 'ERR_NOT_FOUND', message })
  }
  const headers = headersOf(name, file)
  if (request.headers.get('if-none-match') === file.etag) {
    return new Response(null, { status: 304, headers })
  }
  const isGzipped = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
  const body = isGzipped ? file.gzipped : file.bytes
  const encoding = isGzipped ? { 'content-encoding': 'gzip' } : {}
  const length = { 'content-length': String(body.byteLength) }
  const sent = request.method === 'HEAD' ? null : body
  return new Response(sent, { headers: { ...headers, ...encoding, ...length } })
}

function headersOf(name: string, { etag }: PageFile): Record<string, string> {
  const extension = name.slice(name.lastIndexOf('.') + 1)
  return {
    ...ANSWER_HEADERS,
    'content-security-policy': POLICY,
    'content-type': TYPES.get(extension) ?? 'application/octet-stream',
    // The names of built files change with what is in them.
    'cache-control': name.startsWith('assets/')
      ? 'private, max-age=31536000, immutable'
      : 'no-cache',
    vary: 'accept-encoding',
    etag,
  }
}

import { InvalidOptionError } from '@tidemark/contracts'
import {
  checkOptions,
  isLoopbackAddress,
  isLoopbackHost,
  option,
  optionGroup,
  optionRule,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { sameSecret } from '../platform/same-secret.ts'
import { problemAnswer } from './problem-answer.ts'
import { refuseForeignLoad } from './requests/cross-site.ts'

/** What a request must show. One of them is enough. */
export interface Credentials {
  /** `user:password` of HTTP's Basic scheme, which browsers ask people for. @default none */
  readonly basic?: readonly string[] | undefined
  /** Tokens of the Bearer scheme. @default none */
  readonly bearer?: readonly string[] | undefined
}

export interface AccessOptions {
  /** Address that your server listens on. On loopback, no credentials are needed. @default not known, as if it were public */
  readonly host?: string | undefined
  /** @default none */
  readonly credentials?: Credentials | undefined
  /**
   * Your own check. False, or a response: the request is refused. Beside `credentials`, both have to agree. @default none
   */
  readonly guard?: Guard | undefined
  /** Further names in the Host header that are served on loopback: of a proxy before it. @default none */
  readonly allowedHosts?: readonly string[] | undefined
}

/** Judges a request: `true` lets it pass, `false` refuses it, a response is the answer. */
export type Guard = (request: Request) => boolean | Response | Promise<boolean | Response>

/** The answer that refuses a request; undefined: it may pass. */
export type AccessRule = (request: Request) => Promise<Response | undefined>

const texts = optionRule('a list of texts', (value) => {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '')
})
const secretTexts = { ...texts, secret: true }

export const accessRules: OptionRules<AccessOptions> = {
  host: option.text,
  credentials: optionGroup<Credentials>({ basic: secretTexts, bearer: secretTexts }),
  guard: option.function,
  allowedHosts: texts,
}

/**
 * The one rule for everything that the command serves beside its clients' protocols. On loopback everything is open to requests
 * whose Host header names this machine, so that no foreign page reaches it by a name of its own. On any other address
 * there must be credentials or a guard. What a page of another site makes a browser load is refused everywhere.
 *
 * @throws ERR_INVALID_OPTION when such an address has neither
 */
export function accessRule(options: AccessOptions): AccessRule {
  checkOptions(options, accessRules)
  const { host, credentials = {}, guard, allowedHosts = [] } = options
  const { basic = [], bearer = [] } = credentials
  if (basic.some((pair) => !/^[^:]+:./s.test(pair))) {
    throw new InvalidOptionError('credentials.basic must be texts such as user:password')
  }
  const isLocal = host !== undefined && isLoopbackAddress(host)
  const hasCredentials = basic.length + bearer.length > 0
  if (!isLocal && !hasCredentials && guard === undefined) {
    throw new InvalidOptionError(
      `what listens on ${host ?? 'an unknown address'} is open to everybody who reaches it: give credentials ` +
        `(--credentials-file) or a guard, or listen on loopback (host: '127.0.0.1')`,
    )
  }
  return async (request) => {
    if (isLocal && !namesThisMachine(request, allowedHosts)) return wrongHost()
    const foreign = refuseForeignLoad(request)
    if (foreign !== undefined) return foreign
    if (hasCredentials && !shows(request, { basic, bearer })) return unauthorized(basic.length > 0)
    const verdict = await guard?.(request)
    if (verdict instanceof Response) return verdict
    return verdict === false ? forbidden() : undefined
  }
}

function namesThisMachine(request: Request, allowed: readonly string[]): boolean {
  const host = request.headers.get('host') ?? new URL(request.url).host
  const name = host.toLowerCase().replace(/:\d+$/, '')
  return isLoopbackHost(host) || allowed.some((one) => one.toLowerCase() === name)
}

function shows(
  request: Request,
  { basic, bearer }: Record<'basic' | 'bearer', readonly string[]>,
): boolean {
  const [, scheme = '', value = ''] =
    /^(basic|bearer) +(\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
  const isBasic = scheme.toLowerCase() === 'basic'
  const shown = isBasic ? Buffer.from(value, 'base64').toString('utf8') : value
  // All of them are compared, so that the time does not tell which one it is.
  return (isBasic ? basic : bearer).filter((one) => sameSecret(one, shown)).length > 0
}

function unauthorized(asksPeople: boolean): Response {
  const scheme = asksPeople ? 'Basic realm="Tidemark", charset="UTF-8"' : 'Bearer'
  const message = 'The request needs credentials, and has none or wrong ones.'
  return problemAnswer(401, { code: 'ERR_UNAUTHORIZED', message }, { 'www-authenticate': scheme })
}

function wrongHost(): Response {
  const message = 'The Host header must name this machine: localhost, 127.0.0.1 or [::1].'
  return problemAnswer(403, { code: 'ERR_WRONG_HOST', message })
}

function forbidden(): Response {
  return problemAnswer(403, { code: 'ERR_FORBIDDEN', message: 'The guard refuses this request.' })
}
